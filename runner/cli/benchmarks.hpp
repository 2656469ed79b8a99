#pragma once

#include "problem/case.hpp"
#include "record/record.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

enum class BenchmarkFormat { console, json, csv };
constexpr std::string_view to_string(BenchmarkFormat format) {
  return format == BenchmarkFormat::console ? "console" : format == BenchmarkFormat::json ? "json" : "csv";
}

/// Flags of Google Benchmark. They begin with "--benchmark_", and mean what they mean there.
struct BenchmarkFlags {
  std::string filter = "all";
  bool list_tests = false;
  int repetitions = 1;
  std::optional<BenchmarkFormat> format = {};  ///< of what it prints in place of the table
  std::string out = {};                        ///< path of its file; empty for none
  BenchmarkFormat out_format = BenchmarkFormat::json;

  /// Whether run_cases() does more than to run each case.
  bool asked_for() const { return repetitions > 1 || format || !out.empty(); }
};

/// The cases that the filter chooses by their names, which are printed with `list_tests`. Throws UsageError where no
/// case is left, and for a filter that is no regular expression (POSIX extended). Google Benchmark's own filter takes
/// a time that grows with the square of the cases.
std::vector<Case> choose_cases(const std::vector<Case>& plan, const BenchmarkFlags& flags);

/// Google Benchmark runs `body` for each case, as often as it shall be repeated, and prints and writes its formats. The
/// whole protocol is one iteration, whose time is the median. Returns its table of what repetitions have in common;
/// empty without repetitions, and where it has printed that.
std::string run_cases(const std::vector<Case>& plan, const BenchmarkFlags& flags,
                      const std::function<Record(const Case&)>& body);

}  // namespace sgemm
