#include "report/benchmarks.hpp"

#include "base/usage_error.hpp"
#include "record/results_file.hpp"

#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <iostream>
#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace sgemm {
namespace {

using Runs = std::vector<benchmark::BenchmarkReporter::Run>;

constexpr std::array COUNTERS{"gflops",    "vs_cublas",  "vs_cublas_alone", "rel_err",
                              "registers", "smem_bytes", "spill_bytes",     "blocks_per_sm"};

/// Passes runs on to one of Google Benchmark's reporters with the documented names, without the
/// "/iterations:1/manual_time" that it adds to them.
class TidyReporter : public benchmark::BenchmarkReporter {
 public:
  /// `every_counter` gives all runs the same counters, as NaN where they do not apply: the CSV reporter aborts
  /// otherwise.
  TidyReporter(benchmark::BenchmarkReporter& inner, bool every_counter)
      : inner_(inner), every_counter_(every_counter) {}

  bool ReportContext(const Context& context) override {
    inner_.SetOutputStream(&GetOutputStream());
    inner_.SetErrorStream(&GetErrorStream());
    return inner_.ReportContext(context);
  }
  void ReportRuns(const Runs& runs) override {
    Runs tidy = runs;
    for (Run& run : tidy) {
      run.run_name.iterations.clear();
      run.run_name.time_type.clear();
      for (const char* const counter : COUNTERS) {
        if (every_counter_) {
          run.counters.emplace(counter, benchmark::Counter(std::numeric_limits<double>::quiet_NaN()));
        }
      }
    }
    inner_.ReportRuns(tidy);
  }
  void Finalize() override { inner_.Finalize(); }

 private:
  benchmark::BenchmarkReporter& inner_;
  bool every_counter_;
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // CSVReporter
std::unique_ptr<benchmark::BenchmarkReporter> make_file_reporter(std::string_view format) {
  if (format == "json") {
    return std::make_unique<benchmark::JSONReporter>();
  }
  if (format == "csv") {
    return std::make_unique<benchmark::CSVReporter>();
  }
  return std::make_unique<benchmark::ConsoleReporter>(benchmark::ConsoleReporter::OO_None);
}
#pragma GCC diagnostic pop

/// Says nothing about single runs, which have their row in the table already, and passes the aggregates of repetitions
/// to a note.
class AggregateReporter : public benchmark::BenchmarkReporter {
 public:
  explicit AggregateReporter(const std::function<void(const std::string&)>& note) : note_(note) {}

  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const Runs& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Aggregate) {
        continue;
      }
      const double value = run.GetAdjustedRealTime();
      // A percentage (the coefficient of variation) arrives as a plain fraction.
      const std::string text = run.aggregate_unit == benchmark::kPercentage
                                   ? fmt::format("{:.2f} %", 100.0 * run.real_accumulated_time)
                                   : fmt::format("{:.2f} us", value);
      note_(fmt::format("{} of repetitions: {}", run.aggregate_name, text));
    }
  }

 private:
  const std::function<void(const std::string&)>& note_;
};

void report(benchmark::State& state, const Record& record) {
  if (record.measurement) {
    state.SetIterationTime(record.measurement->time_us.median * 1e-6);
    const nlohmann::ordered_json json = to_json(record, 1);
    for (const char* const counter : COUNTERS) {
      if (json.contains(counter)) {
        state.counters[counter] = json.at(counter).get<double>();
      }
    }
    state.SetLabel(record.detail);
  } else if (record.reason.empty()) {
    state.SetIterationTime(std::numeric_limits<double>::quiet_NaN());  // the case ended as it should, but has no time
    state.SetLabel(std::string(to_string(record.outcome)));
  } else {
    state.SkipWithError(fmt::format("{}: {}", to_string(record.outcome), record.reason).c_str());
  }
}

}  // namespace

GoogleBenchmark::GoogleBenchmark(const std::string& program, const std::vector<std::string>& flags) : flags_(flags) {
  if (const std::optional<std::string> path = flag("benchmark_out"); path && !path->empty()) {
    require_writable(*path);
  }
  for (const std::string_view name : {"benchmark_format", "benchmark_out_format"}) {
    const std::string format = flag(name).value_or("console");
    if (format != "console" && format != "json" && format != "csv") {
      throw UsageError(fmt::format("--{}: '{}' is not one of console, json, csv", name, format));
    }
  }
  words_ = flags;
  words_.insert(words_.begin(), program);
  std::vector<char*> argv;
  for (std::string& word : words_) {
    argv.push_back(word.data());
  }
  int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  benchmark::Initialize(&argc, argv.data());
  if (argc > 1) {
    throw UsageError(fmt::format("Google Benchmark does not know {}", argv[1]));
  }
}

std::optional<std::string> GoogleBenchmark::flag(std::string_view name) const {
  std::optional<std::string> value;
  for (const std::string& word : flags_) {
    const std::string prefix = fmt::format("--{}", name);
    if (word == prefix) {
      value = "";
    } else if (word.starts_with(prefix + "=")) {
      value = word.substr(prefix.size() + 1);
    }
  }
  return value;
}

std::string GoogleBenchmark::filter() const { return benchmark::GetBenchmarkFilter(); }

bool GoogleBenchmark::lists(const std::vector<Case>& plan) const {
  const std::optional<std::string> value = flag("benchmark_list_tests");
  if (!value || *value == "false" || *value == "0" || *value == "no") {
    return false;
  }
  for (const Case& item : plan) {
    std::cout << item.name() << '\n';
  }
  return true;
}

bool GoogleBenchmark::prints_results() const { return flag("benchmark_format").has_value(); }

void GoogleBenchmark::run(const std::vector<Case>& plan, const std::function<Record(const Case&)>& body,
                          const std::function<void(const std::string&)>& note) const {
  for (const Case& item : plan) {
    benchmark::RegisterBenchmark(item.name().c_str(),
                                 [&](benchmark::State& state) {
                                   for ([[maybe_unused]] auto iteration : state) {
                                     report(state, body(item));
                                   }
                                 })
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
  AggregateReporter aggregates(note);
  const std::string format = flag("benchmark_format").value_or("console");
  TidyReporter tidy(*benchmark::CreateDefaultDisplayReporter(), format == "csv");
  benchmark::BenchmarkReporter* const display =
      prints_results() ? static_cast<benchmark::BenchmarkReporter*>(&tidy) : &aggregates;

  const std::string file_format = flag("benchmark_out_format").value_or("json");
  const std::unique_ptr<benchmark::BenchmarkReporter> file_reporter = make_file_reporter(file_format);
  TidyReporter tidy_file(*file_reporter, file_format == "csv");
  std::optional<OutputFile> file;  // as long as Google Benchmark writes it
  if (const std::optional<std::string> path = flag("benchmark_out"); path && !path->empty()) {
    file.emplace(*path);
  }
  // The plan is filtered already.
  benchmark::RunSpecifiedBenchmarks(display, flag("benchmark_out") ? &tidy_file : nullptr, "all");
  benchmark::Shutdown();
}

}  // namespace sgemm
