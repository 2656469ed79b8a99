#include "bench/gpu_bench.hpp"

#include "base/outcome.hpp"
#include "bench/gpu/session.hpp"
#include "common/cuda_check.hpp"
#include "device/cublas_handle.hpp"

#include <exception>
#include <new>
#include <string>
#include <vector>

#include <cuda_profiler_api.h>

namespace sgemm {
namespace {

bool out_of_memory(const CublasError& error) { return error.status() == CUBLAS_STATUS_ALLOC_FAILED; }
bool out_of_memory(const CudaError& error) { return error.code() == cudaErrorMemoryAllocation; }

/// The session, guarded: errors of CUDA and of libraries become the case's outcome.
class CudaBench final : public GpuBench {
 public:
  CudaBench(const Device& device, const Protocol& protocol, StopToken stop) : gpu_(device, protocol, stop) {}

  GpuFacts facts() const override { return gpu_.facts(); }
  void require(const Kernel& kernel, OperandSet& operands) override;
  void run(const Kernel& kernel, OperandSet& operands, const Observer& observer, Record& record) override;
  Verdict check_host_result(OperandSet& operands, const Observer& observer, const Record& record) override;
  double cublas_rel_err(OperandSet& operands, const Observer& observer, const Record& record) override;
  bool lost() const override { return !lost_after_.empty(); }

 private:
  template <class Work>
  auto guarded(const std::string& case_name, const Work& work);
  void note_failure(const std::string& case_name);
  void require_device() const;
  void run_mode(const GpuCase& item);
  /// Throws CaseStopped where the first launch's A or B is not what the host has.
  void require_inputs_unchanged(OperandSet& operands);

  GpuSession gpu_;
  std::string lost_after_;
};

template <class Work>
auto CudaBench::guarded(const std::string& case_name, const Work& work) {
  const auto stop = [&](const auto& error) {
    note_failure(case_name);
    return out_of_memory(error) ? CaseStopped(Outcome::skipped, "not enough device memory")
                                : CaseStopped(Outcome::failed, error.what());
  };
  try {
    return work();
  } catch (const CaseStopped&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const CudaError& error) {
    throw stop(error);
  } catch (const CublasError& error) {
    throw stop(error);
  } catch (const std::exception& error) {
    note_failure(case_name);
    throw CaseStopped(Outcome::failed, error.what());
  }
}

void CudaBench::note_failure(const std::string& case_name) {
  cudaGetLastError();
  // A permanent error comes back from every later call.
  if (!lost() && cudaDeviceSynchronize() != cudaSuccess) {
    lost_after_ = case_name;
  }
}

void CudaBench::require_device() const {
  if (lost()) {
    throw CaseStopped(Outcome::skipped, "device lost after an earlier failure in " + lost_after_);
  }
}

void CudaBench::require(const Kernel& kernel, OperandSet& operands) {
  require_device();
  if (!kernel.build(Target::for_gpu)) {
    throw CaseStopped(Outcome::not_supported, "was not built for GPUs");
  }
  require_code_for(gpu_.device(), kernel);
  if (!operands.device) {
    guarded("sgemm/" + kernel.id(), [&] { gpu_.require_memory(operands); });
  }
}

void CudaBench::run(const Kernel& kernel, OperandSet& operands, const Observer& observer, Record& record) {
  guarded(record.name, [&] {
    const GpuCase item{kernel, operands, observer, record};
    if (!kernel.file) {
      run_mode(item);
      return;
    }
    try {
      DeviceProblem& problem = gpu_.on_device(operands).problem;
      problem.move(gpu_.protocol().seed);  // as for samples, so that a place does not tell what a launch is for
      problem.fill(operands.host());
      run_mode(item);
      require_inputs_unchanged(operands);
    } catch (...) {
      operands.device.reset();  // whatever a file's kernel did to them, the next kernel has its operands anew
      throw;
    }
  });
}

/// One launch, of which the errors are recorded.
void compare_errors(GpuSession& gpu, const GpuCase& item) {
  const Prepared prepared = gpu.prepare(item);
  gpu.run_once(prepared, item.operands, Owner::kernel);
  gpu.verify(item, 0, "");
  item.record.outcome = Outcome::compared;
}

/// One launch between cudaProfilerStart() and cudaProfilerStop().
void launch_profiled(GpuSession& gpu, const GpuCase& item) {
  const Prepared prepared = gpu.prepare(item);
  gpu.run_once(prepared, item.operands, Owner::kernel);  // what a first launch loads is not profiled
  if (gpu.protocol().verify) {
    gpu.verify(item, 0, "");
  }

  DeviceProblem& problem = gpu.on_device(item.operands).problem;
  problem.restore(Owner::kernel, 1, gpu.stream());
  CUDA_CHECK(cudaStreamSynchronize(gpu.stream()));
  CUDA_CHECK(cudaProfilerStart());
  prepared(problem.operands(Owner::kernel), gpu.stream());
  CUDA_CHECK(cudaStreamSynchronize(gpu.stream()));
  CUDA_CHECK(cudaProfilerStop());
  gpu.note_resources(item);
  item.record.outcome = Outcome::profiled;
}

void CudaBench::run_mode(const GpuCase& item) {
  switch (gpu_.protocol().mode) {
    case Mode::accuracy:
      return compare_errors(gpu_, item);
    case Mode::profile:
      return launch_profiled(gpu_, item);
    case Mode::sustain:
      return sustain(gpu_, item);
    default:
      return measure(gpu_, item);
  }
}

void CudaBench::require_inputs_unchanged(OperandSet& operands) {
  DeviceProblem& on_device = gpu_.on_device(operands).problem;
  const std::string why = changed_input(operands.host(), [&](MatrixName name, std::size_t elements) {
    const Problem problem = on_device.operands(Owner::kernel);
    const float* const data = name == MatrixName::a   ? problem.a
                              : name == MatrixName::b ? problem.b
                                                      : on_device.reference_operands().c;
    std::vector<float> found(elements);
    CUDA_CHECK(cudaMemcpy(found.data(), data, elements * sizeof(float), cudaMemcpyDeviceToHost));
    return found;
  });
  if (!why.empty()) {
    throw CaseStopped(Outcome::failed, why);
  }
}

Verdict CudaBench::check_host_result(OperandSet& operands, const Observer& observer, const Record& record) {
  return guarded(record.name, [&] {
    const Reference& expected = gpu_.reference(operands, observer);
    const Problem problem = gpu_.on_device(operands).problem.operands(Owner::kernel);
    const std::vector<float>& c = operands.result();
    CUDA_CHECK(cudaMemcpy(problem.c, c.data(), c.size() * sizeof(float), cudaMemcpyHostToDevice));
    return expected.check(problem.c, problem.ldc, record.accuracy);
  });
}

double CudaBench::cublas_rel_err(OperandSet& operands, const Observer& observer, const Record& record) {
  return guarded(record.name, [&] {
    OnDevice& state = gpu_.on_device(operands);
    if (!state.cublas_rel_err) {
      const Reference& expected = gpu_.reference(operands, observer);
      gpu_.run_once(gpu_.cublas_of(operands), operands, Owner::cublas);
      const Problem problem = state.problem.operands(Owner::cublas);
      state.cublas_rel_err = expected.check(problem.c, problem.ldc, AccuracyClass::fp32).rel_err;
    }
    return *state.cublas_rel_err;
  });
}

}  // namespace

std::unique_ptr<GpuBench> GpuBench::open(const Device& device, const Protocol& protocol, StopToken stop) {
  return std::make_unique<CudaBench>(device, protocol, stop);
}

}  // namespace sgemm
