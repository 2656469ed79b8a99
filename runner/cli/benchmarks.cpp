#include "cli/benchmarks.hpp"

#include "base/usage_error.hpp"

#include <benchmark/benchmark.h>

#include <array>
#include <iostream>
#include <limits>
#include <regex>
#include <sstream>

#include <fmt/format.h>

namespace sgemm {
namespace {

constexpr std::array COUNTERS{"gflops",    "vs_cublas",  "vs_cublas_alone", "rel_err",
                              "registers", "smem_bytes", "spill_bytes",     "blocks_per_sm"};

void set_flags(std::vector<std::string> flags) {
  static std::string program = "runner";  // Google Benchmark keeps the pointer
  std::vector<char*> argv{program.data()};
  for (std::string& flag : flags) {
    argv.push_back(flag.data());
  }
  int argc = static_cast<int>(argv.size());
  benchmark::Initialize(&argc, argv.data());
}

/// Prints to a string alone.
struct QuietReporter : benchmark::ConsoleReporter {
  QuietReporter() : ConsoleReporter(OO_None) {
    SetOutputStream(&output);
    SetErrorStream(&output);
  }
  std::ostringstream output;
};

void report(benchmark::State& state, const Record& record, bool counters) {
  const Json json = to_json(record);
  const bool timed = json.contains("real_time");
  if (!timed && !record.reason.empty()) {
    state.SkipWithError(fmt::format("{}: {}", to_string(record.outcome), record.reason).c_str());
    return;
  }
  // The case may have ended well without a time.
  state.SetIterationTime(json.value("real_time", std::numeric_limits<double>::quiet_NaN()) * 1e-6);
  state.SetLabel(json.at(timed ? "detail" : "outcome").get<std::string>());
  for (const char* const counter : COUNTERS) {
    if (counters && timed && json.contains(counter)) {
      state.counters[counter] = json.at(counter).get<double>();
    }
  }
}

}  // namespace

std::vector<Case> choose_cases(const std::vector<Case>& plan, const BenchmarkFlags& flags) {
  const bool others = flags.filter.starts_with('-');
  std::regex pattern;
  try {
    pattern.assign(flags.filter == "all" ? "." : flags.filter.substr(others ? 1 : 0), std::regex::extended);
  } catch (const std::regex_error& error) {
    throw UsageError(fmt::format("--benchmark_filter: '{}' is no regular expression ({})", flags.filter, error.what()));
  }
  std::vector<Case> chosen;
  for (const Case& item : plan) {
    if (const std::string name = item.name(); std::regex_search(name, pattern) != others) {
      chosen.push_back(item);
      std::cout << (flags.list_tests ? name + '\n' : "");
    }
  }
  if (chosen.empty()) {
    throw UsageError(fmt::format("--benchmark_filter: no case matches '{}'", flags.filter));
  }
  return chosen;
}

std::string run_cases(const std::vector<Case>& plan, const BenchmarkFlags& flags,
                      const std::function<Record(const Case&)>& body) {
  // The rows of CSV have to have the same counters, and a case that failed has none.
  const bool counters = flags.format != BenchmarkFormat::csv && flags.out_format != BenchmarkFormat::csv;
  for (const Case& item : plan) {
    benchmark::RegisterBenchmark(item.name().c_str(),
                                 [&](benchmark::State& state) {
                                   while (state.KeepRunning()) {
                                     report(state, body(item), counters);
                                   }
                                 })
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
  set_flags({fmt::format("--benchmark_repetitions={}", flags.repetitions),
             fmt::format("--benchmark_display_aggregates_only={}", !flags.format), "--benchmark_out=" + flags.out,
             fmt::format("--benchmark_out_format={}", to_string(flags.out_format)),
             fmt::format("--benchmark_format={}", to_string(flags.format.value_or(BenchmarkFormat::console)))});
  QuietReporter quiet;  // single runs have their rows in the runner's table
  benchmark::RunSpecifiedBenchmarks(flags.format ? nullptr : &quiet, nullptr, "all");
  benchmark::ClearRegisteredBenchmarks();
  return flags.repetitions > 1 ? quiet.output.str() : "";
}

}  // namespace sgemm
