#include "case_runner.hpp"

#include "baselines/cublas_handle.hpp"
#include "cuda_check.hpp"
#include "device_problem.hpp"
#include "interrupt.hpp"
#include "outcome.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace sgemm {
namespace {

bool out_of_memory(const CublasError& error) { return error.status() == CUBLAS_STATUS_ALLOC_FAILED; }
bool out_of_memory(const CudaError& error) { return error.code() == cudaErrorMemoryAllocation; }

}  // namespace

/// The operands of one size on the host, and the C that CPU kernels write.
struct CaseRunner::HostState {
  HostState(const Size& size, const Options& options)
      : size(size),
        shape(shape_of(size.m, size.n, size.k, options.alpha, options.beta)),
        inputs(std::make_shared<const HostOperands>(make_operands(shape, options.data, options.seed))) {}

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
  Problem shape;
  std::shared_ptr<const HostOperands> inputs;
  std::vector<float> c;
  std::unique_ptr<Reference> reference;
};

CaseRunner::CaseRunner(const Options& options, const DeviceQuery& query, bool use_gpu)
    : options_(options), gpu_error_(query.error) {
  if (!query.device || !use_gpu) {
    return;
  }
  try {
    gpu_ = std::make_unique<GpuBench>(*query.device, options);
  } catch (const CudaError& error) {
    gpu_error_ = error.what();
  }
}

CaseRunner::~CaseRunner() = default;

CaseRunner::HostState& CaseRunner::host_state(const Size& size) {
  if (!host_ || host_->size != size) {
    host_.reset();
    host_ = std::make_unique<HostState>(size, options_);
  }
  return *host_;
}

Record CaseRunner::run(const Kernel& kernel, const Size& size, const Observer& observer) {
  Record record(kernel, size);
  const Observer interruptible = [&](std::string_view activity) {
    if (interrupted()) {
      throw CaseStopped(Outcome::skipped, "interrupted");
    }
    observer(activity);
  };
  const auto library_failed = [&](const auto& error) {
    if (out_of_memory(error)) {
      record.stop(Outcome::skipped, "not enough device memory");
    } else {
      record.stop(Outcome::failed, error.what());
    }
    if (gpu_) {
      gpu_->note_failure(record.name);
    }
  };
  try {
    if (kernel.platform == Platform::cpu) {
      run_on_cpu(kernel, size, interruptible, record);
    } else if (gpu_) {
      gpu_->run(
          kernel, size, [&] { return host_state(size).inputs; }, interruptible, record);
    } else {
      record.stop(Outcome::not_supported, "no usable CUDA device");  // the context says why
    }
  } catch (const CaseStopped& stopped) {
    record.stop(stopped.outcome(), stopped.what());
  } catch (const CudaError& error) {
    library_failed(error);
  } catch (const CublasError& error) {
    library_failed(error);
  } catch (const std::bad_alloc&) {
    record.stop(Outcome::skipped, "not enough host memory");
  } catch (const std::exception& error) {
    record.stop(Outcome::failed, error.what());
    if (gpu_) {
      gpu_->note_failure(record.name);
    }
  }
  return record;
}

Verdict CaseRunner::check(const Kernel& kernel, HostState& state, const Observer& observer) {
  if (gpu_ && !gpu_->lost()) {
    return gpu_->check_host_result(
        state.size, [&] { return state.inputs; }, state.c, kernel.accuracy, observer);
  }
  if (!state.reference) {
    observer("computing the reference");
    Problem problem = state.shape;
    problem.a = state.inputs->a.data();
    problem.b = state.inputs->b.data();
    problem.c = const_cast<float*>(state.inputs->c0.data());  // read only
    state.reference = Reference::compute(problem, Platform::cpu, options_.seed);
  }
  observer("verifying");
  return state.reference->check(state.c.data(), state.size.n, kernel.accuracy);
}

void CaseRunner::run_on_cpu(const Kernel& kernel, const Size& size, const Observer& observer, Record& record) {
  const Problem shape = shape_of(size.m, size.n, size.k, options_.alpha, options_.beta);
  if (const std::optional<std::string> reason = kernel.unsupported(shape)) {
    throw CaseStopped(Outcome::not_supported, *reason);
  }
  // Before the operands exist: CPU baselines look at the shape alone, and skip what is too large here.
  const Prepared prepared = kernel.prepare(shape);
  record.detail = prepared.detail;
  observer("preparing");
  HostState& state = host_state(size);
  const auto verify = [&](std::string_view when) {
    const Verdict verdict = check(kernel, state, observer);
    record.rel_err = verdict.rel_err;
    record.max_bound_ratio = verdict.max_bound_ratio;
    if (!verdict.correct()) {
      throw CaseStopped(Outcome::incorrect, fmt::format("{}{}", when, verdict.describe()));
    }
    record.verified = true;
  };
  const Round round = [&](const std::vector<int>&, int) {
    const Problem problem = state.fresh_operands();
    const auto start = std::chrono::steady_clock::now();
    prepared.launch(problem, nullptr);
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    return std::vector<double>{time.count()};
  };
  if (options_.verify) {
    round({0}, 1);
    verify("");
  }
  Timings timings = take_samples(round, {1, false, options_.max_seconds, options_.seed}, observer);
  if (options_.verify) {
    verify("after timing: ");
  }
  record.measurement = measurement_of(std::move(timings), size);
}

}  // namespace sgemm
