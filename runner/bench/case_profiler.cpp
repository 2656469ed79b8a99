#include "bench/case_profiler.hpp"

#include "base/outcome.hpp"
#include "base/split.hpp"
#include "base/temporary_file.hpp"
#include "bench/case_runner.hpp"
#include "record/results_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace sgemm {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Tell the process which case it runs, and the file that its record goes to.
constexpr const char* CASE_VARIABLE = "SGEMM_PROFILED_CASE";
constexpr const char* RECORD_VARIABLE = "SGEMM_PROFILED_RECORD";

/// The last lines that have something on them, as one.
std::string last_lines(std::string_view output) {
  constexpr std::size_t LINES = 3;
  std::vector<std::string_view> lines;
  for (const std::string_view line : split(output, '\n')) {
    if (line.find_first_not_of(" \r") != std::string_view::npos) {
      lines.push_back(line);
    }
  }
  if (lines.empty()) {
    return "it printed nothing";
  }
  lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(std::min(LINES, lines.size())));
  return fmt::format("{}", fmt::join(lines, " / "));
}

/// What keeps ncu from profiling anything on this machine; empty where it is something else.
std::string refusal_in(std::string_view output) {
  return output.find("ERR_NVGPUCTRPERM") == std::string_view::npos
             ? ""
             : "the driver lets this user read no counters (ERR_NVGPUCTRPERM): run it as root, or let all users read "
               "them as https://developer.nvidia.com/ERR_NVGPUCTRPERM says";
}

}  // namespace

CaseProfiler::CaseProfiler(std::vector<std::string> arguments, const std::string& driver,
                           std::optional<double> seconds_per_case, StopToken stop)
    : arguments_(std::move(arguments)), driver_(driver), seconds_per_case_(seconds_per_case), stop_(stop) {}

Record CaseProfiler::run(const Case& item, const Observer& observer) {
  Record record(item);
  try {
    stop_.check();
    if (item.kernel->platform == Platform::cpu) {
      throw CaseStopped(Outcome::not_supported, "runs on the CPU: ncu reads counters of GPU kernels");
    }
    if (!item.kernel->local_kernel.empty()) {
      throw CaseStopped(Outcome::not_supported,
                        fmt::format("is made of {}, which can be profiled", item.kernel->local_kernel));
    }
    if (!refusal_.empty()) {
      throw CaseStopped(Outcome::skipped, refusal_);
    }
    return profile(item, observer);
  } catch (const CaseStopped& stopped) {
    record.stop(stopped.outcome(), stopped.what());
  } catch (const std::exception& error) {
    record.stop(Outcome::failed, error.what());
  }
  return record;
}

Record CaseProfiler::profile(const Case& item, const Observer& observer) {
  observer("profiling");
  std::vector<std::string> program = arguments_;
  program.front() = fs::read_symlink("/proc/self/exe").string();  // for ncu, that link is its own
  while (true) {
    const TemporaryFile file("record.json");
    const std::vector<std::string> variables{fmt::format("{}={}", CASE_VARIABLE, item.name()),
                                             fmt::format("{}={}", RECORD_VARIABLE, file.path().string())};
    std::vector<std::string> wanted;
    std::copy_if(metrics().begin(), metrics().end(), std::back_inserter(wanted), [&](const std::string& metric) {
      return std::find(dropped_metrics_.begin(), dropped_metrics_.end(), metric) == dropped_metrics_.end();
    });
    NcuRun run = ncu_.profile(program, variables, wanted, seconds_per_case_, stop_);
    dropped_metrics_.insert(dropped_metrics_.end(), run.rejected.begin(), run.rejected.end());
    if (const std::string text = file.content(); !text.empty()) {
      const Json json = Json::parse(text);
      Record record = record_from_json(item, json.at("record"));
      json.at("note").get_to(record.note);
      if (record.outcome != Outcome::profiled) {
        return record;  // it did not come to the launch that is profiled
      }
      if (!run.launches.empty()) {
        record.profile = Profile{ncu_.version(), std::move(run.launches), dropped_metrics_};
        return record;
      }
    }
    refusal_ = refusal_in(run.output);
    if (!refusal_.empty()) {
      throw CaseStopped(Outcome::skipped, refusal_);
    }
    if (run.rejected.empty()) {
      throw CaseStopped(Outcome::failed, fmt::format("ncu gave no counters: {}", last_lines(run.output)));
    }
  }
}

// ---- The process ----

bool is_profiled_process() { return std::getenv(CASE_VARIABLE) != nullptr; }

void run_profiled_case(CaseRunner& runner, const std::vector<Case>& plan) {
  const std::string name = std::getenv(CASE_VARIABLE);
  const auto item = std::find_if(plan.begin(), plan.end(), [&](const Case& each) { return each.name() == name; });
  if (item == plan.end()) {
    throw std::logic_error("there is no case " + name);
  }
  Record record(*item);
  if (runner.gpu_error().empty()) {
    record = runner.run(*item, [](std::string_view) {});
  } else {
    record.stop(Outcome::failed, runner.gpu_error());
  }
  write_atomically(std::getenv(RECORD_VARIABLE),
                   dump_json({{"record", to_json(record, 1)}, {"note", record.note}}, -1));
}

}  // namespace sgemm
