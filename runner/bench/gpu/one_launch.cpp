#include "bench/gpu/modes.hpp"
#include "common/cuda_check.hpp"

#include <cuda_profiler_api.h>

namespace sgemm {

void compare_errors(GpuSession& gpu, const GpuCase& item) {
  const Prepared prepared = gpu.prepare(item);
  gpu.run_once(prepared, item.operands, Owner::kernel);
  gpu.verify(item, 0, "");
  item.record.outcome = Outcome::compared;
}

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

}  // namespace sgemm
