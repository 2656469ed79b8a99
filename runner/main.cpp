// Command line -> mode and plan -> for each case: operands, verification, measurement, record -> table and file.

#include "base/interrupt.hpp"
#include "base/usage_error.hpp"
#include "bench/case_runner.hpp"
#include "cli/benchmarks.hpp"
#include "cli/options.hpp"
#include "cli/selection.hpp"
#include "ranks/launch.hpp"
#include "ranks/ranks_bench.hpp"
#include "record/results_file.hpp"
#include "report/console.hpp"
#include "reproducible/digest.hpp"
#include "user/user_kernels.hpp"
#include "verdict/verdict.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>

namespace sgemm {
namespace {

/// How a file's product is started, as people read it, and how much its time on a GPU, or its check, is to be believed.
std::string call_of(const Kernel& kernel, const Protocol& protocol) {
  const std::string launch = launches_of(kernel).front();
  const bool takes_beta = launch.find("beta") != std::string::npos;
  const bool takes_alpha = launch.find("alpha") != std::string::npos && protocol.alpha == 1.0F;
  return fmt::format(
      "{}: {}{}{}", kernel.id(), launch,
      protocol.check && takes_beta && protocol.beta == 0.0F
          ? fmt::format(" (what it does with {} is not seen: {} shows it)", takes_alpha ? "alpha and beta" : "beta",
                        takes_alpha ? "--alpha 2 --beta 3" : "--beta 2")
          : "",
      kernel.file->host_code
          ? " (its host code is loaded: times are its owner's word; --device-code runs its kernels alone)"
          : "");
}

/// Holds the names of the files that a run writes beside its results.
std::vector<OutputFile> other_files(const Options& options, const OutputFile& output) {
  std::vector<OutputFile> others;
  for (const std::filesystem::path other : {options.trace.page, options.google.out}) {
    const auto is_other = [whole = weakly_canonical(other)](const OutputFile& held) {
      return weakly_canonical(held.path()) == whole;
    };
    if (!other.empty() && (is_other(output) || std::ranges::any_of(others, is_other))) {
      throw UsageError(fmt::format("can not write {}: two flags name it", other.string()));
    }
    if (!other.empty()) {
      others.emplace_back(other);
    }
  }
  return others;
}

/// Runs the plan in the modes that fill a results file. `added` is a baseline that nobody named: a run with its times
/// alone has measured nothing.
ExitStatus run_plan(const Options& options, const Run& run, const Kernel* added) {
  const DeviceQuery& device = run.device;
  OutputFile output = results_file(options.out, device.device ? device.device->name : cpu_model());
  const std::filesystem::path path = output.path();
  const std::vector<OutputFile> others = other_files(options, output);
  const std::unique_ptr<Runner> runner = make_runner(run);
  const bool executing = is_for_gpus(run.plan) && !runner->gpu_error().empty();
  print_remarks(std::cerr, options, executing, runner->gpu_error());
  ResultsFile file(std::move(output),
                   describe_environment(options.argv, options.protocol, device, runner->gpu_facts()));

  Console console = make_console(options.protocol, run.plan, executing);
  const bool table_shown = !options.google.format;
  if (table_shown) {
    std::vector<std::string> lines = heading(options, device, runner->gpu_facts(), executing, path.string());
    for (const Case& item : run.plan) {
      const Kernel& kernel = *item.kernel;
      if (kernel.file && std::ranges::find(lines, call_of(kernel, options.protocol)) == lines.end()) {
        lines.push_back(call_of(kernel, options.protocol));
      }
    }
    console.heading(lines);
  }
  std::map<Outcome, int> counts;
  const auto run_case = [&](const Case& item) {
    Record record(item);
    if (interrupted()) {
      record.stop(Outcome::skipped, "interrupted");
      return record;  // an interrupted run's file ends with the case that was under way
    }
    // Of the plan, however often a case is repeated.
    const std::string place = fmt::format("[{}/{}] {}", &item - run.plan.data() + 1, run.plan.size(), record.name);
    record =
        runner->run(item, [&](std::string_view activity) { console.progress(fmt::format("{}: {}", place, activity)); });
    if (item.kernel != added || record.outcome != Outcome::measured) {
      ++counts[record.outcome];
    }
    file.add(record);
    if (table_shown) {
      console.row(record);
    }
    return record;
  };
  if (options.google.asked_for()) {
    const std::string repetitions = run_cases(run.plan, options.google, run_case);
    std::cout << (repetitions.empty() ? "" : "\n") << repetitions;
  } else {
    std::ranges::for_each(run.plan, run_case);
  }
  file.finish(interrupted());
  if (table_shown) {
    console.summary(path.string(), options.trace.page);
  }
  return exit_status(counts);
}

/// What needs no plan: help, a list, a file to start from. Returns whether that was all.
bool printed(const ParseResult& parsed) {
  const Options& options = parsed.options;
  if (parsed.text) {
    std::cout << *parsed.text;
  } else if (options.protocol.mode == Mode::list) {
    print_list(std::cout, kernels(), options.list_format, terminal_width());
  } else if (options.new_kernel) {
    write_new_kernel(*options.new_kernel);
    std::cout << fmt::format("wrote {0}; next: {1} --kernel {0} --device cpu --check\n", *options.new_kernel,
                             options.argv.front());
  } else {
    return false;
  }
  return true;
}

/// Threads that execute kernels take more than the least that a shell may allow.
void require_stack() {
  constexpr rlim_t KIB = 1024;
  constexpr rlim_t LEAST = 1024;
  rlimit stack{};
  if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur / KIB < LEAST) {
    throw UsageError(fmt::format("a stack may have {} KiB here, and {} are needed: ulimit -s allows more",
                                 stack.rlim_cur / KIB, LEAST));
  }
}

/// Overwrites the secret where /proc shows others the command line, and in what results have of it.
void hide_secret(const std::vector<char*>& words, Options& options) {
  constexpr std::string_view FLAG = "--secret";
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const std::size_t begin = words[i - 1] == FLAG ? 0 : word.starts_with("--secret=") ? FLAG.size() + 1 : word.size();
    std::fill(words[i] + begin, words[i] + word.size(), '*');
  }
  if (options.protocol.mode == Mode::judge) {  // others have it for the processes of their cases
    options.argv.assign(words.begin(), words.end());
  }
}

/// `make_team` has the processes of `launch` for ranks; both are null for a process that was started by itself.
ExitStatus start(int argc, char** argv, const Launch* launch, const TeamMaker& make_team) {
  ParseResult parsed = parse_options(argc, argv, version_line());
  hide_secret({argv, argv + argc}, parsed.options);
  if (printed(parsed)) {
    return ALL_WELL;
  }
  require_stack();
  const Options& options = parsed.options;
  if (options.protocol.mode == Mode::judge) {
    catch_interrupts();
    return run_judge(options);
  }
  if (options.protocol.mode == Mode::digest) {
    return run_digests(options);
  }
  const KernelTerms terms = kernel_terms(options.kernels);
  const std::vector<Kernel> available = with_configurations(terms.names, kernels());
  std::vector<const Kernel*> selected =
      terms.names.empty() ? std::vector<const Kernel*>() : select_kernels(terms.names, available);
  if (launch != nullptr) {
    require_ranks(*launch, terms, selected, options.ranks);
  }
  require_several_gpus(options, selected);
  const DeviceQuery device = device_of(options);
  if (const std::string_view flag = flag_that_needs_gpu(options); !flag.empty() && !device.device) {
    std::cerr << fmt::format("runner: {} needs a usable CUDA device: {}\n", flag, device.error);
    return NOTHING_MEASURED;
  }
  catch_interrupts();
  const std::vector<Kernel> of_files = kernels_of_files(terms.files, options, device);
  for (const Kernel& kernel : of_files) {
    selected.push_back(&kernel);
  }
  const bool on_gpu = device.device.has_value();
  const Kernel* added =
      on_gpu && options.protocol.mode == Mode::measure ? add_cpu_baseline(selected, kernels()) : nullptr;
  const std::vector<Case> plan = plan_of(options, selected, on_gpu);
  if (options.google.list_tests) {
    return ALL_WELL;
  }
  Run run = run_of(options, device, plan,
                   ranks_bench_maker({options.ranks, make_team, seconds_per_case(options, on_gpu, true, 0)}));
  run.ranks_are_processes = launch != nullptr;
  if (is_case_process()) {
    serve_cases(run);
    return ALL_WELL;
  }
  return run_plan(options, run, added);
}

}  // namespace
}  // namespace sgemm

int main(int argc, char** argv) try {
  const std::optional<sgemm::Launch> launch = sgemm::find_launch();
  const auto start = [&](const sgemm::TeamMaker& make_team) {
    return sgemm::start(argc, argv, launch ? &*launch : nullptr, make_team);
  };
  const int status = launch ? sgemm::run_in_world(*launch, start) : start(nullptr);
  if (!std::cout.flush()) {
    throw sgemm::UsageError("can not write to standard output");
  }
  return status;
} catch (...) {
  return sgemm::status_of_error();
}
