// Command line -> mode and plan -> for each case: operands, verification, measurement, record -> table and results
// file.

#include "base/build_info.hpp"
#include "base/interrupt.hpp"
#include "base/usage_error.hpp"
#include "bench/case_process.hpp"
#include "bench/case_runner.hpp"
#include "bench/tuning_file.hpp"
#include "cli/options.hpp"
#include "cli/plan.hpp"
#include "cli/selection.hpp"
#include "device/device.hpp"
#include "device/telemetry.hpp"
#include "host/kernel.hpp"
#include "problem/sizes.hpp"
#include "ranks/launch.hpp"
#include "ranks/mpi_world.hpp"
#include "record/environment.hpp"
#include "record/results_file.hpp"
#include "report/benchmarks.hpp"
#include "report/console.hpp"
#include "report/heading.hpp"
#include "report/list.hpp"
#include "report/tuning_run.hpp"
#include "simt/gpu_models.hpp"
#include "user/compile.hpp"
#include "user/user_kernels.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace sgemm {
namespace {

enum ExitStatus { ALL_WELL = 0, CASES_WRONG = 1, BAD_USAGE = 2, NOTHING_MEASURED = 3, INTERRUPTED = 130 };

ExitStatus exit_status(const std::map<Outcome, int>& counts) {
  if (interrupted()) {
    return INTERRUPTED;
  }
  if (counts.contains(Outcome::incorrect) || counts.contains(Outcome::failed)) {
    return CASES_WRONG;
  }
  constexpr std::array DONE{Outcome::measured, Outcome::sustained, Outcome::executed,
                            Outcome::compared, Outcome::counted,   Outcome::profiled};
  const bool any = std::any_of(DONE.begin(), DONE.end(), [&](Outcome outcome) { return counts.contains(outcome); });
  return any ? ALL_WELL : NOTHING_MEASURED;
}

DeviceQuery device_of(const Options& options) {
  if (!options.on_executor) {
    return query_device(options.device);
  }
  const Protocol& protocol = options.protocol;
  return {std::nullopt, protocol.check ? "--check" : protocol.mode == Mode::count ? "--count" : "--device cpu"};
}

/// Files are compiled for the target that they are going to run on.
std::vector<Kernel> kernels_of_files(const std::vector<std::string>& files, const Options& options,
                                     const DeviceQuery& query) {
  const Protocol& protocol = options.protocol;
  const Target target = protocol.check || protocol.mode == Mode::count ? Target::for_checks
                        : query.device                                 ? Target::for_gpu
                                                                       : Target::for_executor;
  UserOptions user = options.user;
  user.compile.compute_capability = query.device ? query.device->compute_capability : 0;
  return user_kernels(files, target, user);
}

bool any_gpu_kernel(const std::vector<Case>& plan) {
  return std::any_of(plan.begin(), plan.end(), [](const Case& item) { return item.kernel->platform == Platform::gpu; });
}

std::size_t longest(const std::vector<Case>& plan, std::string (*text)(const Case&)) {
  std::size_t longest = 0;
  for (const Case& item : plan) {
    longest = std::max(longest, text(item).size());
  }
  return longest;
}

Console make_console(const Protocol& protocol, const std::vector<Case>& plan) {
  const std::size_t width = terminal_width();
  return {std::cout, isatty(STDERR_FILENO) != 0 ? &std::cerr : nullptr, width,
          Table(protocol.mode, width, longest(plan, [](const Case& item) { return item.kernel->id(); }),
                longest(plan, [](const Case& item) { return to_string(item.size); }), protocol.energy)};
}

/// The seconds that a case in a process of its own may be silent for; nothing for as long as it likes.
std::optional<double> seconds_per_case(const Options& options, bool on_gpu, bool several_gpus) {
  constexpr double ON_GPU = 60.0;
  constexpr double PROFILED = 300.0;         // ncu launches a kernel some 40 times
  constexpr double ON_EXECUTOR = 300.0;      // five times what is run without --force
  constexpr double ON_SEVERAL_GPUS = 300.0;  // operands of tens of gigabytes are made on the host
  if (options.timeout || (options.force && !on_gpu)) {
    return options.timeout;
  }
  if (options.protocol.mode == Mode::profile) {
    return PROFILED;
  }
  return !on_gpu ? ON_EXECUTOR : several_gpus ? ON_SEVERAL_GPUS : ON_GPU + 2 * options.protocol.max_seconds;
}

CaseRunner make_case_runner(const Options& options, const DeviceQuery& query, const std::vector<Case>& plan,
                            const std::optional<TuningFile>& tuning) {
  const CountingOptions counting{simt::find_gpu_model(options.gpu_model), options.blocks_per_sm, options.trace,
                                 options.force};
  RankOptions ranks = options.ranks;
  ranks.seconds = seconds_per_case(options, query.device.has_value(), true);
  return {
      options.protocol, query, {any_gpu_kernel(plan), counting, options.force, tuning, ranks}, StopToken(interrupted)};
}

/// Profiled kernels run under the profiler. Files' kernels are kept away from all else, and so are ranks that are
/// threads: what hangs or crashes costs its case alone.
std::unique_ptr<Runner> make_runner(const Options& options, const DeviceQuery& query, const std::vector<Case>& plan,
                                    const std::optional<TuningFile>& tuning) {
  if (options.protocol.mode == Mode::profile) {
    const std::unique_ptr<Telemetry> telemetry = Telemetry::open(query.device->pci_bus_id);
    return std::make_unique<CaseProfiler>(options.argv, telemetry ? telemetry->driver_version() : "",
                                          seconds_per_case(options, true, false), StopToken(interrupted));
  }
  const auto any = [&](const auto& wanted) {
    return std::any_of(plan.begin(), plan.end(), [&](const Case& item) { return wanted(*item.kernel); });
  };
  const bool several_gpus = any([](const Kernel& kernel) { return !kernel.local_kernel.empty(); });
  if (options.ranks.world != nullptr ||
      (!several_gpus && !any([](const Kernel& kernel) { return kernel.file.has_value(); }))) {
    return std::make_unique<CaseRunner>(make_case_runner(options, query, plan, tuning));
  }
  std::optional<double> seconds = seconds_per_case(options, query.device.has_value(), several_gpus);
  if (several_gpus && seconds) {
    // The leader of the ranks gives up first, because it knows which rank is silent.
    seconds = 2.0 * time_for_replies(*seconds).count();
  }
  const bool checkable = !query.device && !options.protocol.check && can_compile_checks();
  return std::make_unique<CaseProcess>(options.argv, seconds, checkable, StopToken(interrupted));
}

/// What the process of a CaseProcess or of a CaseProfiler does instead of run_plan().
void serve(const Options& options, const DeviceQuery& query, const std::vector<Case>& plan) {
  CaseRunner runner = make_case_runner(options, query, plan, tuning_for_run(options, query));
  serve_cases(runner, plan);
}

/// Runs the plan in the modes that fill a results file.
ExitStatus run_plan(const Options& options, const DeviceQuery& query, const GoogleBenchmark& google,
                    const std::vector<Case>& plan) {
  if (options.out) {
    require_writable(*options.out);
  }
  const std::filesystem::path path = options.out
                                         ? std::filesystem::path(*options.out)
                                         : default_results_path(query.device ? query.device->name : cpu_model());
  require_writable(path);
  if (options.trace) {
    require_writable(options.trace->page);
  }

  const std::optional<TuningFile> tuning = tuning_for_run(options, query);
  const std::unique_ptr<Runner> runner = make_runner(options, query, plan, tuning);
  const bool executing = any_gpu_kernel(plan) && !runner->gpu_error().empty();
  if (executing && !options.on_executor) {
    std::cerr << fmt::format("No usable CUDA device ({}): GPU kernels are executed on the CPU.\n", runner->gpu_error());
  }
  if (const auto left_out = left_out_without_cuda(kernel_terms(options.kernels).names, kernels())) {
    std::cerr << fmt::format("{}.\n", *left_out);
  }
  const std::optional<std::string> tuning_path =
      tuning ? std::optional<std::string>(tuning->path.string()) : std::nullopt;
  ResultsFile file(path, describe_environment(options.argv, options.protocol, query, runner->gpu_facts(), tuning_path));

  const bool table_shown = !google.prints_results();
  Console console = make_console(options.protocol, plan);
  if (table_shown) {
    std::vector<std::string> lines = heading(options, query, runner->gpu_facts(), executing, path.string());
    if (tuning_path) {
      lines.push_back(fmt::format("Configurations: as tuned in {}", *tuning_path));
    }
    console.heading(lines);
  }
  std::map<Outcome, int> counts;
  std::size_t started = 0;
  google.run(
      plan,
      [&](const Case& item) {
        Record record(item);
        if (interrupted()) {
          record.stop(Outcome::skipped, "interrupted");
          return record;  // an interrupted run's file ends with the case that was under way
        }
        const std::string place = fmt::format("[{}/{}] {}", ++started, plan.size(), item.name());
        record = runner->run(
            item, [&](std::string_view activity) { console.progress(fmt::format("{}: {}", place, activity)); });
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
    if (options.trace && counts.contains(Outcome::counted)) {
      console.note(fmt::format("A warp's accesses, to be opened in a browser: {}", options.trace->page));
    }
  }
  return exit_status(counts);
}

ExitStatus without_device(std::string_view flag, const std::string& why) {
  std::cerr << fmt::format("runner: {} needs a usable CUDA device: {}\n", flag, why);
  return NOTHING_MEASURED;
}

ExitStatus tune(const Options& options, const DeviceQuery& query, const std::vector<Case>& plan) {
  if (!query.device) {
    return without_device(flag_of(Mode::tune), query.error);
  }
  const std::filesystem::path path = tuning_file_to_write(options, query.device->name);
  CaseRunner runner(options.protocol, query, {}, StopToken(interrupted));
  if (!runner.gpu_error().empty()) {
    return without_device(flag_of(Mode::tune), runner.gpu_error());
  }
  Console console = make_console(options.protocol, plan);
  console.heading(heading(options, query, runner.gpu_facts(), false, path.string()));
  return exit_status(tune(
      plan, [&](const Case& item, const Observer& observer) { return runner.tune(item, observer); }, path,
      describe_environment(options.argv, options.protocol, query, runner.gpu_facts()), console,
      StopToken(interrupted)));
}

std::string version_line() {
  const BuildInfo& build = build_info();
  return fmt::format("sgemm-worklog {}, commit {}{}", build.version, build.git_commit,
                     build.git_dirty ? " with changes" : "");
}

/// Makes the processes of `world` the ranks of all cases. Throws UsageError where the command line has other wishes.
void use_world(MpiWorld& world, const Launch& launch, const KernelTerms& terms,
               const std::vector<const Kernel*>& selected, Options& options) {
  const auto of_one_gpu =
      std::find_if(selected.begin(), selected.end(), [](const Kernel* kernel) { return kernel->local_kernel.empty(); });
  if (!terms.files.empty() || of_one_gpu != selected.end()) {
    throw UsageError(
        fmt::format("{} is for products on several GPUs (--kernel many_gpus): start the runner by itself "
                    "for {}",
                    launch.launcher, terms.files.empty() ? (*of_one_gpu)->id() : terms.files.front()));
  }
  RankOptions& ranks = options.ranks;
  if (ranks.gpus.value_or(world.size()) != world.size()) {
    throw UsageError(fmt::format("--{} takes {} ranks, {} started {}", ranks.grid ? "grid" : "gpus", *ranks.gpus,
                                 launch.launcher, world.size()));
  }
  if (ranks.exchange == GpuExchange::peer) {
    throw UsageError("--exchange peer: a process can not copy from the GPU of another one, nccl can");
  }
  ranks.world = &world;
}

/// Throws UsageError where the command line says how GPUs share a product, and no kernel is for several.
void require_several_gpus(const RankOptions& ranks, const std::vector<const Kernel*>& selected) {
  const bool any =
      std::any_of(selected.begin(), selected.end(), [](const Kernel* kernel) { return !kernel->local_kernel.empty(); });
  if (!any && (ranks.gpus || ranks.exchange)) {
    throw UsageError(
        fmt::format("--{} is for products on several GPUs, and --kernel names no kernel for them (many_gpus, cublasmp)",
                    ranks.grid   ? "grid"
                    : ranks.gpus ? "gpus"
                                 : "exchange"));
  }
}

/// `world` are the processes of `launch`; both are null for a process that was started by itself.
ExitStatus run(int argc, char** argv, const Launch* launch, MpiWorld* world) {
  ParseResult parsed = parse_options(argc, argv, version_line());
  if (parsed.text) {
    std::cout << *parsed.text;
    return ALL_WELL;
  }
  Options& options = parsed.options;
  const Mode mode = options.protocol.mode;
  if (mode == Mode::list) {
    print_list(std::cout, kernels(), options.list_format, static_cast<int>(terminal_width()));
    return ALL_WELL;
  }
  if (options.new_kernel) {
    write_new_kernel(*options.new_kernel);
    std::cout << fmt::format("wrote {}; next: ./runner --kernel {} --device cpu --check\n", *options.new_kernel,
                             *options.new_kernel);
    return ALL_WELL;
  }
  const KernelTerms terms = kernel_terms(options.kernels);
  std::vector<const Kernel*> selected;
  if (!terms.names.empty()) {
    selected = select_kernels(terms.names, kernels());
  }
  if (world != nullptr) {
    use_world(*world, *launch, terms, selected, options);
  }
  require_several_gpus(options.ranks, selected);
  const DeviceQuery device = device_of(options);
  const std::string_view needs_device = options.protocol.energy                          ? "--energy"
                                        : mode == Mode::profile || mode == Mode::sustain ? flag_of(mode)
                                                                                         : "";
  if (!needs_device.empty() && !device.device) {
    return without_device(needs_device, device.error);
  }
  catch_interrupts();
  const std::vector<Kernel> of_files = kernels_of_files(terms.files, options, device);
  for (const Kernel& kernel : of_files) {
    selected.push_back(&kernel);
  }
  const std::vector<Size> sizes =
      parse_sizes(options.sizes ? *options.sizes : default_sizes(mode, device.device.has_value()));
  if (mode == Mode::tune) {
    return tune(options, device, make_plan(tunable(selected, options.kernels, kernels()), sizes, {}, ""));
  }
  const GoogleBenchmark google(options.argv.front(), options.benchmark_flags);
  const std::vector<Distribution> kinds = mode == Mode::accuracy ? options.protocol.data : std::vector<Distribution>{};
  const std::vector<Case> plan = make_plan(selected, sizes, kinds, google.filter());
  if (plan.empty()) {
    throw UsageError(fmt::format("--benchmark_filter: no case matches '{}'", google.filter()));
  }
  if (options.trace && plan.size() > 1) {
    throw UsageError(
        fmt::format("--trace: a page shows one kernel at one size, and these are {} cases ({}, {}, ...); run the "
                    "runner once for each page",
                    plan.size(), plan[0].name(), plan[1].name()));
  }
  if (google.list_only()) {
    for (const Case& item : plan) {
      std::cout << item.name() << '\n';
    }
    return ALL_WELL;
  }
  if (is_case_process()) {
    serve(options, device, plan);
    return ALL_WELL;
  }
  return run_plan(options, device, google, plan);
}

/// The status of `work`, or of the error that ended it, which is printed in one piece: mpirun writes there as well.
int status_of(const std::function<int()>& work) {
  try {
    return work();
  } catch (const UsageError& error) {
    std::cerr << fmt::format("{}runner: {}\n", error.details(), error.what());
    return BAD_USAGE;
  } catch (const std::exception& error) {
    std::cerr << fmt::format("runner: {}\n", error.what());
    return interrupted() ? INTERRUPTED : CASES_WRONG;
  }
}

/// What one of several processes does that were started together.
int run_in_world(int argc, char** argv, const Launch& launch) {
  const std::unique_ptr<MpiWorld> world = MpiWorld::join(launch);
  if (!world) {
    return BAD_USAGE;
  }
  if (world->rank() > 0) {
    return world->follow();
  }
  const int status = status_of([&] { return run(argc, argv, &launch, world.get()); });
  world->leave(status);
  return status;
}

}  // namespace
}  // namespace sgemm

int main(int argc, char** argv) {
  return sgemm::status_of([&]() -> int {
    const std::optional<sgemm::Launch> launch = sgemm::find_launch();
    return launch ? sgemm::run_in_world(argc, argv, *launch) : sgemm::run(argc, argv, nullptr, nullptr);
  });
}
