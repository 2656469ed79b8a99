#pragma once

// Barriers of some of a block's warps.
// PTX ISA 9.0, "Parallel Synchronization and Communication Instructions: bar".

#include "common/target.hpp"

#include <cuda_runtime.h>

namespace sgemm::SGEMM_TARGET {

// bar_sync(id, threads): waits until `threads` threads of the block (a multiple of 32, whole warps) have arrived at
// barrier `id` (0 to 15; 0 is the one __syncthreads uses). Orders their shared-memory accesses before and after it.

#ifdef __CUDACC__

__device__ __forceinline__ void bar_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

#endif

}  // namespace sgemm::SGEMM_TARGET
