#include "bench/case_runner.hpp"

#include "base/interrupt.hpp"
#include "base/outcome.hpp"
#include "bench/configuration_choice.hpp"
#include "count/count.hpp"
#include "problem/checked_operands.hpp"
#include "simt/checked_arrays.hpp"
#include "simt/executor.hpp"

#include <chrono>
#include <functional>
#include <limits>
#include <new>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace sgemm {
namespace {

/// An executor's case that is expected to take longer needs --force.
constexpr double MOST_SECONDS = 60.0;
/// Problems with fewer products, of which the slowest kernel does some ten million a second, are not worth an estimate.
constexpr double FEW_PRODUCTS = 5e7;

double products(const Problem& shape) { return flops(shape) / 2.0; }

/// "90 s", "25 min", "3.5 h".
std::string duration_text(double seconds) {
  constexpr double MINUTE = 60.0;
  constexpr double HOUR = 60.0 * MINUTE;
  if (seconds < 2 * MINUTE) {
    return fmt::format("{:.0f} s", seconds);
  }
  return seconds < 2 * HOUR ? fmt::format("{:.0f} min", seconds / MINUTE) : fmt::format("{:.1f} h", seconds / HOUR);
}

/// Passes on what goes on, and ends the case when the run was interrupted.
Observer until_interrupted(const Observer& observer) {
  return [&observer](std::string_view activity) {
    if (interrupted()) {
      throw CaseStopped(Outcome::skipped, "interrupted");
    }
    observer(activity);
  };
}

/// Does the work of a case. Returns what ended it before its end, or nothing.
std::optional<CaseStopped> ending_of(const std::function<void()>& work) {
  try {
    work();
    return std::nullopt;
  } catch (const CaseStopped& stopped) {
    return stopped;
  } catch (const simt::NotSupported& error) {
    return CaseStopped(Outcome::not_supported, error.what());
  } catch (const simt::Stopped& error) {
    return CaseStopped(Outcome::skipped, error.what());
  } catch (const std::bad_alloc&) {
    return CaseStopped(Outcome::skipped, "not enough host memory");
  } catch (const std::exception& error) {
    return CaseStopped(Outcome::failed, error.what());
  }
}

/// What a record says of a kernel on the executor.
void describe_choice(const Kernel& kernel, const Prepared& prepared, Record& record) {
  record.detail = kernel.configurations_on_executor ? chosen_by_model(prepared.detail) : prepared.detail;
  record.workspace_bytes = prepared.workspace_bytes;
}

}  // namespace

/// The operands of one size and distribution on the host, and the C that CPU kernels write.
struct CaseRunner::HostState {
  HostState(const Size& size, Distribution data, const Options& options)
      : size(size),
        data(data),
        shape(shape_of(size.m, size.n, size.k, options.alpha, options.beta)),
        inputs(std::make_shared<const HostOperands>(make_operands(shape, data, options.seed))) {}

  /// The operands with C as a kernel finds it: C0, or NaN where beta is 0.
  Problem fresh_operands() {
    if (shape.beta != 0.0F) {
      c = inputs->c0;
    } else {
      c.assign(static_cast<std::size_t>(size.m) * static_cast<std::size_t>(size.n),
               std::numeric_limits<float>::quiet_NaN());
    }
    Problem problem = shape;
    problem.a = inputs->a.data();
    problem.b = inputs->b.data();
    problem.c = c.data();
    return problem;
  }

  Size size;
  Distribution data;
  Problem shape;
  std::shared_ptr<const HostOperands> inputs;
  std::vector<float> c;
  std::unique_ptr<Reference> reference;
};

CaseRunner::CaseRunner(const Options& options, const DeviceQuery& query, bool use_gpu, std::optional<TuningFile> tuning)
    : options_(options), gpu_error_(query.error) {
  simt::stop_when(interrupted);
  if (!query.device || !use_gpu) {
    return;
  }
  try {
    gpu_ = GpuBench::open(*query.device, options, std::move(tuning));
  } catch (const std::runtime_error& error) {
    gpu_error_ = error.what();
  }
}

CaseRunner::~CaseRunner() = default;

CaseRunner::HostState& CaseRunner::host_state(const Record& record) {
  const Distribution data = record.data.value_or(options_.data);
  if (!host_ || host_->size != record.size || host_->data != data) {
    host_.reset();
    host_ = std::make_unique<HostState>(record.size, data, options_);
  }
  return *host_;
}

Record CaseRunner::run(const Kernel& kernel, const Size& size, const Observer& observer,
                       std::optional<Distribution> data) {
  Record record(kernel, size, data);
  const std::optional<CaseStopped> stopped = ending_of([&] {
    const Observer interruptible = until_interrupted(observer);
    if (options_.count) {
      run_counted(kernel, size, interruptible, record);
    } else if (kernel.platform == Platform::cpu) {
      run_on_cpu(kernel, size, interruptible, record);
    } else if (gpu_) {
      gpu_->run(
          kernel, size, [&] { return host_state(record).inputs; }, interruptible, record);
    } else {
      run_on_executor(kernel, size, interruptible, record);
    }
    if (record.outcome == Outcome::compared && gpu_ && !gpu_->lost()) {
      compare_with_cublas(interruptible, record);
    }
  });
  if (stopped) {
    record.stop(stopped->outcome(), stopped->what());
  }
  return record;
}

TuningResult CaseRunner::tune(const Kernel& kernel, const Size& size, const Observer& observer) {
  TuningResult result;
  const Record record(kernel, size);
  const std::optional<CaseStopped> stopped = ending_of([&] {
    result = gpu_->tune(
        kernel, size, [&] { return host_state(record).inputs; }, until_interrupted(observer));
  });
  if (stopped) {
    result.outcome = stopped->outcome();
    result.reason = stopped->what();
  }
  return result;
}

Verdict CaseRunner::check(HostState& state, const Observer& observer, const Record& record) {
  if (gpu_ && !gpu_->lost()) {
    return gpu_->check_host_result(
        record, [&] { return state.inputs; }, state.c, observer);
  }
  if (!state.reference) {
    observer("computing the reference");
    Problem problem = state.shape;
    problem.a = state.inputs->a.data();
    problem.b = state.inputs->b.data();
    problem.c = const_cast<float*>(state.inputs->c0.data());  // read only
    state.reference = Reference::compute(problem, Platform::cpu, options_.seed, {}, roundings_of(state.data));
  }
  observer("verifying");
  return state.reference->check(state.c.data(), state.size.n, record.accuracy);
}

void CaseRunner::verify(HostState& state, std::string_view when, const Observer& observer, Record& record) {
  judge(check(state, observer, record), when, record);
}

void CaseRunner::compare_with_cublas(const Observer& observer, Record& record) {
  const double error = gpu_->cublas_rel_err(
      record, [&] { return host_state(record).inputs; }, observer);
  if (error > 0.0) {
    record.errors->vs_cublas = *record.rel_err / error;
  }
}

void CaseRunner::run_on_cpu(const Kernel& kernel, const Size& size, const Observer& observer, Record& record) {
  const Problem shape = shape_of(size.m, size.n, size.k, options_.alpha, options_.beta);
  if (const std::optional<std::string> reason = kernel.unsupported(shape)) {
    throw CaseStopped(Outcome::not_supported, *reason);
  }
  // Before the operands exist: CPU baselines look at the shape alone, and skip what is too large here.
  const Prepared prepared = kernel.prepare(shape);
  record.detail = prepared.detail;
  record.workspace_bytes = prepared.workspace_bytes;
  observer("preparing");
  HostState& state = host_state(record);
  const Round round = [&](const std::vector<int>&, int) {
    const Problem problem = state.fresh_operands();
    const auto start = std::chrono::steady_clock::now();
    prepared.launch(problem, nullptr);
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    return std::vector<double>{time.count()};
  };
  if (options_.verify) {
    round({0}, 1);
    verify(state, "", observer, record);
  }
  if (options_.accuracy) {
    record.outcome = Outcome::compared;
    return;
  }
  Timings timings = take_samples(round, {1, false, options_.max_seconds, options_.seed}, observer);
  if (options_.verify) {
    verify(state, "after timing: ", observer, record);
  }
  record.measurement = measurement_of(std::move(timings), size);
}

Prepared CaseRunner::execute(const Kernel& kernel, const Problem& problem) {
  if (!options_.check) {
    Prepared prepared = kernel.prepare_on_executor(problem);
    prepared.launch(problem, nullptr);
    return prepared;
  }
  const simt::CheckedArrays arrays(arrays_of(problem));
  Prepared prepared = kernel.prepare_checked(problem);
  prepared.launch(problem, nullptr);
  return prepared;
}

double CaseRunner::estimate_seconds(const Kernel& kernel, const Problem& shape) {
  const auto [entry, is_new] = products_per_second_.try_emplace(kernel.id(), 0.0);
  if (is_new) {
    constexpr Size SMALL{256, 256, 64};
    HostState small(SMALL, options_.data, options_);
    const Problem problem = small.fresh_operands();
    const auto start = std::chrono::steady_clock::now();
    execute(kernel, problem);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    entry->second = products(small.shape) / time.count();
  }
  return products(shape) / entry->second;
}

void CaseRunner::run_counted(const Kernel& kernel, const Size& size, const Observer& observer, Record& record) {
  if (!kernel.prepare_on_executor) {
    throw CaseStopped(Outcome::not_supported, kernel.platform == Platform::cpu
                                                  ? "runs on the CPU: only GPU kernels are counted"
                                                  : "is a library, of which there is no source to be counted");
  }
  if (!kernel.prepare_checked) {
    throw CaseStopped(Outcome::not_supported, "was built without counting, which takes GCC without sanitizers");
  }
  const Problem shape = shape_of(size.m, size.n, size.k, options_.alpha, options_.beta);
  if (const std::optional<std::string> reason = kernel.unsupported(shape)) {
    throw CaseStopped(Outcome::not_supported, *reason);
  }
  observer("preparing");
  HostState& state = host_state(record);
  const Problem problem = state.fresh_operands();
  const CountingOptions options{simt::find_gpu_model(options_.gpu_model), options_.blocks_per_sm, options_.force};
  const Prepared prepared = kernel.prepare_checked(problem);
  describe_choice(kernel, prepared, record);
  record.counts = count(kernel, prepared, problem, options, observer);
  if (options_.verify && record.counts->blocks_executed == record.counts->blocks) {
    verify(state, "", observer, record);
  }
  record.outcome = Outcome::counted;
}

void CaseRunner::run_on_executor(const Kernel& kernel, const Size& size, const Observer& observer, Record& record) {
  if (!kernel.prepare_on_executor) {
    throw CaseStopped(Outcome::not_supported, "needs a CUDA device");  // the context says why there is none
  }
  if (options_.check && !kernel.prepare_checked) {
    throw CaseStopped(Outcome::not_supported, "was built without checks: they take GCC without sanitizers");
  }
  const Problem shape = shape_of(size.m, size.n, size.k, options_.alpha, options_.beta);
  if (const std::optional<std::string> reason = kernel.unsupported(shape)) {
    throw CaseStopped(Outcome::not_supported, *reason);
  }
  observer("preparing");
  if (!options_.force && products(shape) > FEW_PRODUCTS) {
    const double seconds = estimate_seconds(kernel, shape);
    if (seconds > MOST_SECONDS) {
      throw CaseStopped(Outcome::skipped, fmt::format("would take about {} on the CPU; --force runs it all the same",
                                                      duration_text(seconds)));
    }
  }
  HostState& state = host_state(record);
  const Problem problem = state.fresh_operands();
  observer("executing");
  describe_choice(kernel, execute(kernel, problem), record);
  if (options_.verify) {
    verify(state, "", observer, record);
  }
  record.outcome = options_.accuracy ? Outcome::compared : Outcome::executed;
}

}  // namespace sgemm
