// Benches of what runs in the memory of the host: kernels of the CPU, and GPU kernels on the executor.

#include "bench/bench.hpp"

#include "base/outcome.hpp"
#include "common/ceil_div.hpp"
#include "problem/guarded_operands.hpp"
#include "record/results_file.hpp"
#include "simt/checked_arrays.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <exception>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace sgemm {
namespace {

/// A case that is expected to take longer needs --force.
constexpr double MOST_SECONDS = 60.0;
/// Problems of less work are not worth an estimate: the slowest kernel does about ten million products a second.
constexpr double LITTLE_WORK = 5e7;

/// The products that a kernel takes as long for as for this problem. Blocks are whole, also where C is narrow, and a
/// thread takes as long as for some products before it does its first.
double work(Size size) {
  constexpr std::int64_t SIDE_OF_BLOCK = 32;
  constexpr std::int64_t LEAST_DEPTH = 16;
  size.m = ceil_div(size.m, SIDE_OF_BLOCK) * SIDE_OF_BLOCK;
  size.n = ceil_div(size.n, SIDE_OF_BLOCK) * SIDE_OF_BLOCK;
  size.k = std::max(size.k, LEAST_DEPTH);
  return products(size);
}

/// "90 s", "25 min", "3.5 h".
std::string duration_text(double seconds) {
  constexpr double MINUTE = 60.0;
  constexpr double HOUR = 60.0 * MINUTE;
  if (seconds < 2 * MINUTE) {
    return fmt::format("{:.0f} s", seconds);
  }
  return seconds < 2 * HOUR ? fmt::format("{:.0f} min", seconds / MINUTE) : fmt::format("{:.1f} h", seconds / HOUR);
}

/// The base of the benches.
class HostBench : public Bench {
 public:
  HostBench(const Protocol& protocol, GpuBench* gpu, StopToken stop, const CountingOptions& options)
      : protocol_(protocol), gpu_(gpu), stop_(stop), options_(options) {}

 protected:
  /// Compares C with the reference. A GPU computes the reference if there is one, because it is faster.
  void verify(OperandSet& operands, std::string_view when, const Observer& observer, Record& record) {
    stop_.check();
    observer("verifying");
    const bool on_gpu = gpu_ != nullptr && !gpu_->lost();
    record.judge(on_gpu ? gpu_->check_host_result(operands, observer, record) : operands.check(record.accuracy), when,
                 protocol_.beta, [&] { return cause_of_wrong(operands.original(), operands.result().data()); });
  }

  const Protocol& protocol_;
  GpuBench* const gpu_;
  const StopToken stop_;
  const CountingOptions options_;
};

class CpuBench final : public HostBench {
 public:
  using HostBench::HostBench;

  void require(const Kernel& kernel, OperandSet& operands) override {
    if (protocol_.mode == Mode::sustain) {
      throw CaseStopped(Outcome::not_supported, "runs on the CPU: --sustain is for GPU kernels");
    }
    if (!options_.force && kernel.most_products > 0.0 && products(operands.size) > kernel.most_products) {
      throw CaseStopped(Outcome::skipped,
                        fmt::format("CPU baseline capped at m * n * k = {:.0f}^3; --force runs it all the same",
                                    std::cbrt(kernel.most_products)));
    }
  }

  void run(const Kernel& kernel, OperandSet& operands, const Observer& observer, Record& record) override {
    const Build& build = kernel.build(Target::for_host);
    const Prepared prepared = build.prepare(operands.problem());
    record.detail = prepared.configuration.name;
    const Round round = [&](const std::vector<int>&, int) {
      const Problem problem = operands.fresh();
      const auto start = std::chrono::steady_clock::now();
      prepared(problem, nullptr);
      const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
      return std::vector<double>{time.count()};
    };
    if (protocol_.verify) {
      round({0}, 1);
      verify(operands, "", observer, record);
    }
    if (protocol_.mode == Mode::accuracy) {
      record.outcome = Outcome::compared;
      return;
    }
    Timings timings = take_samples(round, {1, false, protocol_.max_seconds, protocol_.seed, stop_}, observer);
    if (protocol_.verify) {
      verify(operands, "after timing: ", observer, record);
    }
    record.measurement = measurement_of(std::move(timings), operands.size);
  }
};

class ExecutorBench final : public HostBench {
 public:
  using HostBench::HostBench;

  void require(const Kernel& kernel, OperandSet& operands) override {
    if (!kernel.build(Target::for_executor)) {
      throw CaseStopped(Outcome::not_supported, "needs a CUDA device");  // the context says why there is none
    }
    if (protocol_.check && !kernel.build(Target::for_checks)) {
      throw CaseStopped(Outcome::not_supported, "was built without checks: they take GCC without sanitizers");
    }
    if (!options_.force && work(operands.size) > LITTLE_WORK) {
      const std::optional<double> seconds = estimate_seconds(kernel, operands.size);
      if (seconds && *seconds > MOST_SECONDS) {
        throw CaseStopped(Outcome::skipped, fmt::format("would take about {} on the CPU; --force runs it all the same",
                                                        duration_text(*seconds)));
      }
    }
  }

  void run(const Kernel& kernel, OperandSet& operands, const Observer& observer, Record& record) override {
    const Problem problem = operands.fresh();
    const auto speed = products_per_second_.find(kernel.id());
    const bool known = speed != products_per_second_.end() && speed->second;
    const double seconds = known ? work(operands.size) / *speed->second : 0.0;
    observer(seconds < 1.0 ? "executing" : fmt::format("executing, for about {}", duration_text(seconds)));
    const auto begin = std::chrono::steady_clock::now();
    std::optional<Prepared> prepared;
    execute(kernel, problem, prepared);
    record.describe_choice(kernel, prepared->configuration);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    if (protocol_.verify) {
      verify(operands, "", observer, record);
    }
    constexpr double LITTLE_TIME = 2.0;
    if (protocol_.verify && kernel.file && time.count() < LITTLE_TIME) {
      execute(kernel, operands.fresh(), prepared);  // finds what the first launch has left behind
      verify(operands, "in its second launch: ", observer, record);
    }
    record.outcome = protocol_.mode == Mode::accuracy ? Outcome::compared : Outcome::executed;
  }

 private:
  /// Runs the kernel's own choice. It is prepared at the first launch, so that later ones find its workspace.
  void execute(const Kernel& kernel, const Problem& problem, std::optional<Prepared>& prepared) const {
    const Build& build = kernel.build(protocol_.check ? Target::for_checks : Target::for_executor);
    const auto launch = [&](const Problem& p) {
      if (!prepared) {
        prepared = build.prepare(p);
      }
      (*prepared)(p, nullptr);
    };
    if (!protocol_.check && !kernel.file) {
      return launch(problem);
    }
    const GuardedOperands guarded(problem, protocol_.check && kernel.takes_padding);
    std::optional<simt::CheckedArrays> arrays;
    if (protocol_.check) {
      arrays.emplace(arrays_of(guarded.problem()));
    }
    launch(guarded.problem());
    if (arrays && !arrays->observed_any()) {
      throw CaseStopped(Outcome::failed,
                        "no access to memory was observed: nothing was launched, or what was launched is not checked");
    }
    if (const std::optional<std::string> damage = guarded.damage()) {
      throw CaseStopped(Outcome::failed, fmt::format("{}{}", *damage, protocol_.check ? "" : CHECK_HINT));
    }
    guarded.copy_result();
  }

  /// Seconds that the executor is expected to take, judged by the faster of two runs of a small problem; nothing where
  /// the kernel can not compute that one.
  std::optional<double> estimate_seconds(const Kernel& kernel, const Size& size) {
    const auto [entry, is_new] = products_per_second_.try_emplace(kernel.id());
    if (is_new) {
      constexpr Size SMALL{256, 256, 64};
      OperandSet small(SMALL, protocol_.data.front(), protocol_);
      const Problem problem = small.fresh();
      if (kernel.unsupported(problem)) {
        return std::nullopt;
      }
      constexpr int TRIALS = 2;  // the first one also takes memory that the others find
      for (int trial = 0; trial < TRIALS; ++trial) {
        const auto start = std::chrono::steady_clock::now();
        try {
          std::optional<Prepared> prepared;
          execute(kernel, problem, prepared);
        } catch (const std::exception&) {
          return std::nullopt;  // what is wrong with a small product need not be wrong with the one that is asked for
        }
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
        entry->second = std::max(entry->second.value_or(0.0), work(SMALL) / time.count());
      }
    }
    return entry->second ? std::optional(work(size) / *entry->second) : std::nullopt;
  }

  std::map<std::string, std::optional<double>> products_per_second_;  ///< by id
};

class CountingBench final : public HostBench {
 public:
  using HostBench::HostBench;

  void require(const Kernel& kernel, OperandSet&) override {
    if (!kernel.build(Target::for_executor)) {
      throw CaseStopped(Outcome::not_supported, kernel.platform == Platform::cpu
                                                    ? "runs on the CPU: only GPU kernels are counted"
                                                    : "is a library, of which there is no source to be counted");
    }
    if (!kernel.build(Target::for_checks)) {
      throw CaseStopped(Outcome::not_supported, "was built without counting, which takes GCC without sanitizers");
    }
  }

  void run(const Kernel& kernel, OperandSet& operands, const Observer& observer, Record& record) override {
    const Problem problem = operands.fresh();
    std::optional<GuardedOperands> guarded;
    if (kernel.file) {
      guarded.emplace(problem, false);
    }
    const Problem& counted = guarded ? guarded->problem() : problem;
    const Prepared prepared = kernel.build(Target::for_checks).prepare(counted);
    record.describe_choice(kernel, prepared.configuration);
    const Counts counts = count(kernel, prepared, counted, options_, observer);
    if (guarded) {
      if (const std::optional<std::string> damage = guarded->damage()) {
        throw CaseStopped(Outcome::failed, fmt::format("{}{}", *damage, CHECK_HINT));
      }
      guarded->copy_result();
    }
    if (protocol_.verify && counts.sum().whole()) {
      verify(operands, "", observer, record);
    }
    if (options_.trace) {
      write_atomically(options_.trace->page, trace_page(kernel, operands.size, counts));
    }
    record.counts = to_json(counts);
    record.outcome = Outcome::counted;
  }
};

}  // namespace

void require_code_for(const Device& gpu, const Kernel& kernel) {
  if (kernel.min_compute_capability > gpu.compute_capability) {
    throw CaseStopped(Outcome::not_supported, fmt::format("needs compute capability {}, this device has {}",
                                                          capability_text(kernel.min_compute_capability),
                                                          capability_text(gpu.compute_capability)));
  }
  if (kernel.max_compute_capability != 0 && kernel.max_compute_capability < gpu.compute_capability) {
    throw CaseStopped(Outcome::not_supported, fmt::format("needs instructions of compute capability {}, which {} lacks",
                                                          capability_text(kernel.max_compute_capability),
                                                          capability_text(gpu.compute_capability)));
  }
  const std::string& missing_code = kernel.build(Target::for_gpu).missing_code;
  if (!missing_code.empty()) {
    throw CaseStopped(Outcome::not_supported,
                      fmt::format("this build has no code for {0}: add {1} to -DCMAKE_CUDA_ARCHITECTURES", missing_code,
                                  missing_code.substr(3) + "-real"));
  }
}

std::unique_ptr<Bench> make_host_bench(HostWork work, const Protocol& protocol, GpuBench* gpu, StopToken stop,
                                       const CountingOptions& options) {
  switch (work) {
    case HostWork::time:
      return std::make_unique<CpuBench>(protocol, gpu, stop, options);
    case HostWork::execute:
      return std::make_unique<ExecutorBench>(protocol, gpu, stop, options);
    case HostWork::count:
      break;
  }
  return std::make_unique<CountingBench>(protocol, gpu, stop, options);
}

}  // namespace sgemm
