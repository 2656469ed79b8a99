#pragma once

// Memory beside A, B and C.

#include "common/cuda_check.hpp"
#include "common/target.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

namespace sgemm {
inline namespace SGEMM_TARGET {

/// Allocates `bytes` zeros in the memory of the current device. Throws CudaError if there is no room.
inline std::shared_ptr<void> allocate_workspace(std::size_t bytes) {
  void* memory = nullptr;
  CUDA_CHECK(cudaMalloc(&memory, bytes));
  // Errors while freeing are ignored: they repeat an earlier one, or the process is ending.
  std::shared_ptr<void> workspace(memory, [](void* pointer) { cudaFree(pointer); });
  CUDA_CHECK(cudaMemset(memory, 0, bytes));
  CUDA_CHECK(cudaStreamSynchronize(nullptr));  // the first launch may be on a stream that does not wait for this one
  return workspace;
}

}  // namespace SGEMM_TARGET
}  // namespace sgemm
