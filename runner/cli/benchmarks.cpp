#include "cli/benchmarks.hpp"

#include "base/usage_error.hpp"

#include <benchmark/benchmark.h>

#include <array>
#include <cmath>
#include <limits>
#include <sstream>

#include <fmt/format.h>

namespace sgemm {
namespace {

using Note = std::function<void(const std::string&)>;

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

/// Single runs have their row in the table already.
class AggregateReporter : public benchmark::BenchmarkReporter {
 public:
  explicit AggregateReporter(const Note& note) : note_(note) {}

  bool ReportContext(const Context& /*context*/) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type == Run::RT_Aggregate && std::isfinite(run.real_accumulated_time)) {
        note_(run.aggregate_unit == benchmark::kPercentage
                  ? fmt::format("{} of repetitions: {:.2f} %", run.aggregate_name, 100.0 * run.real_accumulated_time)
                  : fmt::format("{} of repetitions: {:.2f} us", run.aggregate_name, run.GetAdjustedRealTime()));
      }
    }
  }

 private:
  const Note& note_;
};

void report(benchmark::State& state, const Record& record, bool counters) {
  if (!record.measurement && !record.reason.empty()) {
    state.SkipWithError(fmt::format("{}: {}", to_string(record.outcome), record.reason).c_str());
    return;
  }
  const double none = std::numeric_limits<double>::quiet_NaN();  // the case may have ended well without a time
  state.SetIterationTime(record.measurement ? record.measurement->time_us.median * 1e-6 : none);
  state.SetLabel(record.measurement ? record.detail : std::string(to_string(record.outcome)));
  const nlohmann::ordered_json json = to_json(record, 1);
  for (const char* const counter : COUNTERS) {
    if (counters && record.measurement && json.contains(counter)) {
      state.counters[counter] = json.at(counter).get<double>();
    }
  }
}

}  // namespace

std::vector<Case> choose_cases(const std::vector<Case>& plan, const BenchmarkFlags& flags) {
  std::vector<Case> chosen;
  for (const Case& item : plan) {
    benchmark::RegisterBenchmark(item.name().c_str(), [&](benchmark::State& state) {
      chosen.push_back(item);
      state.SkipWithError("chosen");
    });
  }
  set_flags({fmt::format("--benchmark_list_tests={}", flags.list_tests)});
  const Note nothing = [](const std::string&) {};
  AggregateReporter silent(nothing);
  std::ostringstream errors;
  silent.SetErrorStream(&errors);
  const bool any = benchmark::RunSpecifiedBenchmarks(&silent, nullptr, flags.filter) > 0;
  benchmark::ClearRegisteredBenchmarks();
  if (!any) {
    throw UsageError(fmt::format("--benchmark_filter: no case matches '{}' ({})", flags.filter,
                                 errors.str().substr(0, errors.str().find('\n'))));
  }
  return chosen;
}

void run_cases(const std::vector<Case>& plan, const BenchmarkFlags& flags,
               const std::function<Record(const Case&)>& body, const Note& note) {
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
  set_flags({fmt::format("--benchmark_repetitions={}", flags.repetitions), "--benchmark_out=" + flags.out,
             fmt::format("--benchmark_out_format={}", to_string(flags.out_format)),
             fmt::format("--benchmark_format={}", to_string(flags.format.value_or(BenchmarkFormat::console)))});
  AggregateReporter aggregates(note);
  benchmark::RunSpecifiedBenchmarks(flags.format ? nullptr : &aggregates, nullptr, "all");
  benchmark::ClearRegisteredBenchmarks();
}

}  // namespace sgemm
