#include "bench/tuning_file.hpp"

#include "base/usage_error.hpp"
#include "record/results_file.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sgemm {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int FORMAT_VERSION = 1;
constexpr const char* DEFAULT_NAME = "tuning.json";

auto key(const TuningEntry& entry) { return std::tie(entry.kernel, entry.size, entry.float4_rows); }

Json to_json(const TuningEntry& entry) {
  Json json;
  json["kernel"] = entry.kernel;
  json["m"] = entry.size.m;
  json["n"] = entry.size.n;
  json["k"] = entry.size.k;
  json["float4_rows"] = entry.float4_rows;
  json["configuration"] = entry.configuration;
  json["time_us"] = entry.time_us;
  json["model_choice"] = entry.model_choice;
  json["model_time_us"] = entry.model_time_us ? Json(*entry.model_time_us) : Json(nullptr);
  return json;
}

TuningEntry entry_of(const Json& json) {
  TuningEntry entry;
  json.at("kernel").get_to(entry.kernel);
  json.at("m").get_to(entry.size.m);
  json.at("n").get_to(entry.size.n);
  json.at("k").get_to(entry.size.k);
  json.at("float4_rows").get_to(entry.float4_rows);
  json.at("configuration").get_to(entry.configuration);
  json.at("time_us").get_to(entry.time_us);
  json.at("model_choice").get_to(entry.model_choice);
  if (const Json& time = json.at("model_time_us"); !time.is_null()) {
    entry.model_time_us = time.get<double>();
  }
  return entry;
}

/// Whether something is at the path. Also true if that can not be looked at: reading it gives the reason.
bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::status(path, error).type() != fs::file_type::not_found;
}

void require_device(const TuningFile& file, std::string_view device) {
  if (file.device != device) {
    throw UsageError(fmt::format("the tuning file {} is for {}, not for {}", file.path.string(), file.device, device));
  }
}

}  // namespace

bool TuningEntry::same_case(const TuningEntry& other) const { return key(*this) == key(other); }

bool has_float4_rows(const Problem& problem) {
  constexpr std::uintptr_t ALIGNMENT = 16;
  const auto splits = [](const float* matrix, std::int64_t columns, std::int64_t leading_dimension) {
    return reinterpret_cast<std::uintptr_t>(matrix) % ALIGNMENT == 0 && columns % 4 == 0 && leading_dimension % 4 == 0;
  };
  return splits(problem.a, problem.k, problem.lda) && splits(problem.b, problem.n, problem.ldb) &&
         splits(problem.c, problem.n, problem.ldc);
}

const TuningEntry* TuningFile::find(std::string_view kernel, const Problem& problem) const {
  const Size size{problem.m, problem.n, problem.k};
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const TuningEntry& entry) {
    return entry.kernel == kernel && entry.size == size && entry.float4_rows == has_float4_rows(problem);
  });
  return found == entries.end() ? nullptr : &*found;
}

TuningFile read_tuning_file(const fs::path& path) {
  const auto refuse = [&](std::string_view why) -> UsageError {
    return UsageError(fmt::format("can not use the tuning file {}: {}", path.string(), why));
  };
  std::ifstream in(path);
  if (std::error_code error; !in || fs::is_directory(path, error)) {
    throw refuse(is_there(path) ? "it can not be read" : "there is none");
  }
  TuningFile file;
  file.path = path;
  try {
    const Json json = Json::parse(in);
    if (const int version = json.at("format_version").get<int>(); version != FORMAT_VERSION) {
      throw refuse(fmt::format("its format is version {}, this runner reads {}", version, FORMAT_VERSION));
    }
    json.at("context").at("device").at("name").get_to(file.device);
    std::transform(json.at("entries").begin(), json.at("entries").end(), std::back_inserter(file.entries), entry_of);
  } catch (const nlohmann::json::exception& error) {
    throw refuse(error.what());
  }
  return file;
}

std::optional<TuningFile> tuning_for_run(const Options& options, const DeviceQuery& query) {
  if (options.tuning_file && !query.device) {
    throw UsageError(fmt::format("--tuning is about a CUDA device, and there is none: {}", query.error));
  }
  if (!options.use_tuning || !query.device) {
    return std::nullopt;
  }
  const fs::path path =
      options.tuning_file ? fs::path(*options.tuning_file) : results_folder(query.device->name) / DEFAULT_NAME;
  if (!options.tuning_file && !is_there(path)) {
    return std::nullopt;
  }
  try {
    TuningFile file = read_tuning_file(path);
    require_device(file, query.device->name);
    return file;
  } catch (const UsageError& error) {
    throw options.tuning_file ? error : UsageError(fmt::format("{} (--no-tuning does without)", error.what()));
  }
}

fs::path tuning_file_to_write(const Options& options, std::string_view device_name) {
  fs::path path = options.tuning_file ? fs::path(*options.tuning_file)
                                      : make_results_folder(device_name, "--tuning") / DEFAULT_NAME;
  require_writable(path);
  if (is_there(path)) {
    require_device(read_tuning_file(path), device_name);
  }
  return path;
}

void add_to_tuning_file(const fs::path& path, const Json& context, const TuningEntry& entry) {
  std::vector<TuningEntry> entries;
  if (is_there(path)) {
    TuningFile file = read_tuning_file(path);
    require_device(file, context.at("device").at("name").get<std::string>());
    entries = std::move(file.entries);
  }
  std::erase_if(entries, [&](const TuningEntry& earlier) { return earlier.same_case(entry); });
  entries.push_back(entry);
  std::sort(entries.begin(), entries.end(), [](const TuningEntry& x, const TuningEntry& y) { return key(x) < key(y); });
  std::vector<std::string> lines;
  lines.reserve(entries.size());
  for (const TuningEntry& each : entries) {
    lines.push_back(dump_json(to_json(each), -1));
  }
  // One line per entry, as results files have their cases.
  write_atomically(path, fmt::format("{{\n\"format_version\": {},\n\"context\": {},\n\"entries\": [\n{}\n]\n}}\n",
                                     FORMAT_VERSION, dump_json(context, 1), fmt::join(lines, ",\n")));
}

}  // namespace sgemm
