// Command line -> plan -> for each case: operands, verification, measurement, record -> table and results file.

#include "base/build_info.hpp"
#include "base/interrupt.hpp"
#include "base/usage_error.hpp"
#include "bench/case_runner.hpp"
#include "bench/tuning_file.hpp"
#include "cli/options.hpp"
#include "cli/plan.hpp"
#include "cli/selection.hpp"
#include "device/device.hpp"
#include "device/gpu_libraries.hpp"
#include "host/kernel.hpp"
#include "problem/sizes.hpp"
#include "record/environment.hpp"
#include "record/results_file.hpp"
#include "report/benchmarks.hpp"
#include "report/console.hpp"
#include "report/list.hpp"
#include "report/tuning_run.hpp"
#include "simt/executor.hpp"
#include "simt/gpu_models.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace sgemm {
namespace {

enum ExitStatus { ALL_WELL = 0, CASES_WRONG = 1, BAD_USAGE = 2, NOTHING_MEASURED = 3, INTERRUPTED = 130 };

/// What the reader of the table needs to know, one paragraph each; `file` is what is written.
std::vector<std::string> heading(const Options& options, const DeviceQuery& query, const GpuFacts& facts,
                                 bool executing, const std::string& file) {
  std::vector<std::string> lines;
  if (query.device) {
    const Device& device = *query.device;
    std::string line = fmt::format("{}: compute capability {}, {} SMs, {} MiB L2, {} GiB, up to {} MHz", device.name,
                                   capability_text(device.compute_capability), device.multiprocessors,
                                   device.l2_bytes >> 20U, device.memory_bytes >> 30U, device.max_sm_clock_mhz);
    if (!facts.driver.empty()) {
      line += ", driver " + facts.driver;
    }
    lines.push_back(line);
    if (const std::optional<double> peak = device.fp32_peak_gflops()) {
      lines.push_back(fmt::format("% peak: of {:.1f} TFLOP/s FP32 = {}", *peak / 1e3, device.fp32_peak_basis()));
    }
  }
  if (query.device && !options.tune) {
    const std::string cublas = gpu_libraries().cublas.value_or("");
    lines.push_back(options.accuracy
                        ? fmt::format("cuBLAS {} (FP32); vs cuBLAS: the relative error over its; above 1 is less "
                                      "accurate than cuBLAS",
                                      cublas)
                        : fmt::format("cuBLAS {} (FP32) takes turns with every GPU kernel; vs cuBLAS: paired samples, "
                                      "vs alone: cuBLAS by itself; above 1 is faster than cuBLAS",
                                      cublas));
  }
  if (options.accuracy) {
    lines.push_back(
        "rel err: relative Frobenius error against FP64; worst: largest |C - C64| / (|A||B|) of an element; of bound: "
        "largest error over what the kernel's class allows; condition: |A||B| over C64, Frobenius norms; Inf/NaN: "
        "whether they are where they belong");
  }
  if (options.count) {
    const simt::GpuModel& gpu = *simt::find_gpu_model(options.gpu_model);
    lines.push_back(
        fmt::format("GPU kernels: executed on the CPU by {} threads, to count what they ask of an {}: {} "
                    "SMs, {} MiB L2",
                    simt::workers(), gpu.name, gpu.sms, gpu.l2_bytes >> 20U));
    lines.push_back(
        "count: requests of warps as in the source, of which nvcc combines some to shared memory; per request: sectors "
        "(32 B of global memory), waves (passes through shared memory) and conflicts (those that another layout would "
        "save); bytes/C: by all lanes, per element of C");
    lines.push_back(
        "DRAM: predicted, once with the blocks of an SM advancing in step, once each ahead of the next, in turn");
  } else if (executing) {
    lines.push_back(fmt::format("GPU kernels: executed on the CPU by {} threads, {}; they have no times there",
                                simt::workers(),
                                options.check ? "every access to memory checked" : "memory unchecked"));
  }
  lines.push_back(fmt::format("CPU: {}", cpu_model()));
  const std::string factors = fmt::format("seed {}, alpha {}, beta {}", options.seed, options.alpha, options.beta);
  const std::string data = fmt::format("{} data, {}", to_string(options.data), factors);
  lines.push_back(options.accuracy ? factors
                  : options.count  ? data
                                   : fmt::format("{} L2, {} time, {}{}", to_string(options.l2), to_string(options.time),
                                                 data, options.verify ? "" : ", NOT VERIFIED"));
  lines.push_back((options.tune ? "Tuning file: " : "Results: ") + file);
  return lines;
}

std::size_t longest(const std::vector<Case>& plan, std::string (*text)(const Case&)) {
  std::size_t longest = 0;
  for (const Case& item : plan) {
    longest = std::max(longest, text(item).size());
  }
  return longest;
}

ExitStatus exit_status(const std::map<Outcome, int>& counts) {
  if (interrupted()) {
    return INTERRUPTED;
  }
  if (counts.contains(Outcome::incorrect) || counts.contains(Outcome::failed)) {
    return CASES_WRONG;
  }
  constexpr std::array DONE{Outcome::measured, Outcome::executed, Outcome::compared, Outcome::counted};
  const bool any = std::any_of(DONE.begin(), DONE.end(), [&](Outcome outcome) { return counts.contains(outcome); });
  return any ? ALL_WELL : NOTHING_MEASURED;
}

DeviceQuery device_of(const Options& options) {
  return options.on_executor ? DeviceQuery{std::nullopt, options.check   ? "--check"
                                                         : options.count ? "--count"
                                                                         : "--device cpu"}
                             : query_device(options.device);
}

/// The executor takes minutes for what a GPU does at once.
std::string sizes_of(const Options& options, const DeviceQuery& query) {
  if (options.accuracy && !options.sizes_given) {
    return query.device ? "1024,4096" : "256";
  }
  return options.sizes;
}

ExitStatus measure(const Options& options, const DeviceQuery& query, const GoogleBenchmark& google,
                   const std::vector<Case>& plan) {
  if (options.out) {
    require_writable(*options.out);
  }
  const std::filesystem::path path = options.out
                                         ? std::filesystem::path(*options.out)
                                         : default_results_path(query.device ? query.device->name : cpu_model());
  require_writable(path);

  const bool any_gpu_kernel =
      std::any_of(plan.begin(), plan.end(), [](const Case& item) { return item.kernel->platform == Platform::gpu; });
  const std::optional<TuningFile> tuning = tuning_for_run(options, query);
  catch_interrupts();
  CaseRunner runner(options, query, any_gpu_kernel, tuning);
  const bool executing = any_gpu_kernel && !runner.gpu_error().empty();
  if (executing && !options.on_executor) {
    std::cerr << fmt::format("No usable CUDA device ({}): GPU kernels are executed on the CPU.\n", runner.gpu_error());
  }
  const std::optional<std::string> tuning_path =
      tuning ? std::optional<std::string>(tuning->path.string()) : std::nullopt;
  ResultsFile file(path, describe_environment(options, query, runner.gpu_facts(), tuning_path));

  const bool table_shown = !google.prints_results();
  const bool progress_shown = isatty(STDERR_FILENO) != 0;
  const std::size_t width = terminal_width();
  Console console(std::cout, progress_shown ? &std::cerr : nullptr, width,
                  Table(options.accuracy ? Table::Kind::errors : Table::Kind::speed, width,
                        longest(plan, [](const Case& item) { return item.kernel->id(); }),
                        longest(plan, [](const Case& item) { return to_string(item.size); })));
  if (table_shown) {
    std::vector<std::string> lines = heading(options, query, runner.gpu_facts(), executing, path.string());
    if (tuning_path) {
      lines.push_back(fmt::format("Configurations: as tuned in {}", *tuning_path));
    }
    console.heading(lines, !options.count);
  }
  std::map<Outcome, int> counts;
  std::size_t started = 0;
  google.run(
      plan,
      [&](const Case& item) {
        Record record(*item.kernel, item.size, item.data);
        if (interrupted()) {
          record.stop(Outcome::skipped, "interrupted");
          return record;  // an interrupted run's file ends with the case that was under way
        }
        const std::string place = fmt::format("[{}/{}] {}", ++started, plan.size(), item.name);
        const auto progress = [&](std::string_view activity) {
          console.progress(fmt::format("{}: {}", place, activity));
        };
        record = runner.run(*item.kernel, item.size, progress, item.data);
        ++counts[record.outcome];
        file.add(record);
        if (table_shown) {
          console.row(record);
        }
        return record;
      },
      [&](const std::string& text) { console.note(text); });
  file.finish(interrupted());
  if (table_shown) {
    console.summary(path.string());
  }
  return exit_status(counts);
}

ExitStatus tune(const Options& options, const DeviceQuery& query, const std::vector<Case>& plan) {
  const auto without_device = [](const std::string& why) {
    std::cerr << fmt::format("runner: --tune needs a usable CUDA device: {}\n", why);
    return NOTHING_MEASURED;
  };
  if (!query.device) {
    return without_device(query.error);
  }
  const std::filesystem::path path = tuning_file_to_write(options, query.device->name);
  catch_interrupts();
  CaseRunner runner(options, query, true);
  if (!runner.gpu_error().empty()) {
    return without_device(runner.gpu_error());
  }
  const std::size_t width = terminal_width();
  Console console(std::cout, isatty(STDERR_FILENO) != 0 ? &std::cerr : nullptr, width,
                  Table(Table::Kind::speed, width, 0, 0));
  console.heading(heading(options, query, runner.gpu_facts(), false, path.string()), false);
  return exit_status(tune(
      plan, [&](const Case& item, const Observer& observer) { return runner.tune(*item.kernel, item.size, observer); },
      path, describe_environment(options, query, runner.gpu_facts()), console, width));
}

std::string version_line() {
  const BuildInfo& build = build_info();
  return fmt::format("sgemm-worklog {}, commit {}{}", build.version, build.git_commit,
                     build.git_dirty ? " with changes" : "");
}

ExitStatus run(int argc, char** argv) {
  const ParseResult parsed = parse_options(argc, argv, version_line());
  if (parsed.text) {
    std::cout << *parsed.text;
    return ALL_WELL;
  }
  const Options& options = parsed.options;
  if (options.list != ListMode::none) {
    print_list(std::cout, kernels(), options.list, static_cast<int>(terminal_width()));
    return ALL_WELL;
  }
  const std::vector<const Kernel*> selected = select_kernels(options.kernels, kernels());
  const DeviceQuery device = device_of(options);
  const std::vector<Size> sizes = parse_sizes(sizes_of(options, device));
  if (options.tune) {
    return tune(options, device, make_plan(tunable(selected, options.kernels, kernels()), sizes, {}, ""));
  }
  const GoogleBenchmark google(options.argv.front(), options.benchmark_flags);
  const std::vector<Case> plan = make_plan(selected, sizes, options.accuracy_data, google.filter());
  if (plan.empty()) {
    throw UsageError(fmt::format("--benchmark_filter: no case matches '{}'", google.filter()));
  }
  if (google.list_only()) {
    for (const Case& item : plan) {
      std::cout << item.name << '\n';
    }
    return ALL_WELL;
  }
  return measure(options, device, google, plan);
}

}  // namespace
}  // namespace sgemm

int main(int argc, char** argv) {
  try {
    return sgemm::run(argc, argv);
  } catch (const sgemm::UsageError& error) {
    std::cerr << "runner: " << error.what() << '\n';
    return sgemm::BAD_USAGE;
  } catch (const std::exception& error) {
    std::cerr << "runner: " << error.what() << '\n';
    return sgemm::CASES_WRONG;
  }
}
