#include "count/ncu.hpp"

#include "base/outcome.hpp"
#include "base/program.hpp"
#include "base/split.hpp"
#include "base/temporary_file.hpp"
#include "base/usage_error.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <regex>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sgemm {
namespace {

namespace fs = std::filesystem;

std::string find_ncu() {
  const fs::path beside_nvcc = fs::path(SGEMM_CUDA_COMPILER_FILE).parent_path() / "ncu";
  if (const auto found = find_chosen_program("NCU", {"ncu", beside_nvcc.is_absolute() ? beside_nvcc.string() : ""})) {
    return found->string();
  }
  throw UsageError(
      "--profile reads a GPU's counters with Nsight Compute's ncu, and there is none: it comes with the CUDA Toolkit; "
      "put it on PATH or name it in $NCU");
}

std::string version_of(const std::string& ncu) {
  const std::string output = run_program({ncu, "--version"}).output;
  std::smatch found;
  return std::regex_search(output, found, std::regex("Version\\s+(\\S+)")) ? found[1].str() : "unknown";
}

/// The cells of a line of CSV, all of them in quotes. A quote within a cell is doubled.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool escaped = quoted && line.substr(i, 2) == "\"\"";
    if (line[i] == '"' && !escaped) {
      quoted = !quoted;
      if (quoted) {
        cells.emplace_back();
      }
    } else if (quoted) {
      cells.back() += line[i];
      i += escaped ? 1 : 0;
    }
  }
  return cells;
}

/// "1,234.5" as a number; nothing for "n/a" and the like.
std::optional<double> number_in(std::string cell) {
  std::erase(cell, ',');
  double number = 0.0;
  const auto [rest, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  return error == std::errc() && rest == cell.data() + cell.size() && !cell.empty() ? std::optional(number)
                                                                                    : std::nullopt;
}

}  // namespace

Ncu::Ncu() : program_(find_ncu()), version_(version_of(program_)) {}

NcuRun Ncu::profile(const std::vector<std::string>& program, const std::vector<std::string>& variables,
                    const std::vector<std::string>& metrics, std::optional<double> seconds, StopToken stop,
                    const std::filesystem::path& record) const {
  const TemporaryFile log("ncu.csv");  // apart from what the program prints
  std::vector<std::string> words{program_,
                                 "--clock-control",
                                 "none",
                                 "--profile-from-start",
                                 "off",
                                 "--csv",
                                 "--page",
                                 "raw",
                                 "--print-units",
                                 "base",
                                 "--print-kernel-base",
                                 "function",
                                 "--metrics",
                                 fmt::format("{}", fmt::join(metrics, ",")),
                                 "--log-file",
                                 log.path().string()};
  words.insert(words.end(), program.begin(), program.end());
  const ProgramResult result =
      run_program(words, {variables, seconds, stop, {log.path().parent_path(), record.parent_path()}});
  if (result.out_of_time) {
    throw CaseStopped(Outcome::failed,
                      fmt::format("took longer than {:g} s under ncu, which --timeout changes", *seconds));
  }
  const std::string csv = log.content();
  NcuRun run{launches_in(csv, metrics), {}, result.output + csv};
  run.rejected = rejected_metrics(run.output, metrics);
  return run;
}

std::string NcuRun::refusal() const {
  return output.find("ERR_NVGPUCTRPERM") == std::string_view::npos
             ? ""
             : "the driver lets this user read no counters (ERR_NVGPUCTRPERM): run it as root, or let all users read "
               "them as https://developer.nvidia.com/ERR_NVGPUCTRPERM says";
}

std::string NcuRun::last_lines() const {
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

std::vector<ProfiledLaunch> launches_in(std::string_view csv, const std::vector<std::string>& metrics) {
  std::vector<std::vector<std::string>> rows;
  for (const std::string_view line : split(csv, '\n')) {
    if (line.starts_with('"')) {
      rows.push_back(cells_of(line));
    }
  }
  constexpr std::string_view FUNCTION = "Kernel Name";
  const auto position = [](const std::vector<std::string>& names, std::string_view name) {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  const auto names = std::find_if(rows.begin(), rows.end(), [&](const std::vector<std::string>& row) {
    return position(row, FUNCTION) < row.size();
  });
  if (rows.end() - names < 3) {
    return {};
  }
  const std::vector<std::string>& units = *(names + 1);
  std::vector<ProfiledLaunch> launches;
  for (auto row = names + 2; row != rows.end(); ++row) {
    ProfiledLaunch launch;
    if (row->size() != names->size() || units.size() != names->size()) {
      continue;  // a line that is cut off
    }
    launch.function = (*row)[position(*names, FUNCTION)];
    for (const std::string& metric : metrics) {
      const std::size_t column = position(*names, metric);
      if (const auto value = column < row->size() ? number_in((*row)[column]) : std::nullopt) {
        launch.counters.push_back({metric, *value, units[column]});
      }
    }
    launches.push_back(std::move(launch));
  }
  return launches;
}

std::vector<std::string> rejected_metrics(std::string_view output, const std::vector<std::string>& metrics) {
  static const std::regex METRIC("[a-z0-9]+__[a-z0-9_]+(\\.[a-z0-9_.]*[a-z0-9_])?");
  std::set<std::string> words;
  for (const std::string_view line : split(output, '\n')) {
    const auto has = [&](std::string_view text) { return line.find(text) != std::string_view::npos; };
    if (!has("==ERROR==") && !has("==WARNING==") && !has("ailed to")) {
      continue;
    }
    const std::string text(line);
    for (std::sregex_iterator found(text.begin(), text.end(), METRIC); found != std::sregex_iterator(); ++found) {
      words.insert(found->str());
    }
  }
  std::vector<std::string> rejected;
  std::copy_if(metrics.begin(), metrics.end(), std::back_inserter(rejected), [&](const std::string& metric) {
    return words.contains(metric) || words.contains(metric.substr(0, metric.find('.')));
  });
  return rejected;
}

}  // namespace sgemm
