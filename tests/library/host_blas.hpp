#pragma once

// What the product on the CPU that stands for cuBLAS was asked for, by the calling thread.

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

namespace sgemm::test {

struct BlasCalls {
  int products = 0;  ///< calls of Blas::gemm()
  std::int64_t batch_count = 0;
  // During the last product.
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  bool refuses = false;  ///< products, as cuBLAS may
  int multiprocessors = 0;
};
BlasCalls& blas_calls();

/// Whether allocations of the pool succeed, and how many bytes were allocated and not freed.
struct PoolState {
  bool full = false;
  int allocations = 0;
  int live = 0;
  int trims = 0;
};
PoolState& pool_state();

}  // namespace sgemm::test
