#pragma once

// Barriers of some of a block's warps, and the fence before units that have a path of their own to shared memory: the
// tensor cores (wgmma) and the tensor memory accelerator (sm_90 and later).
// PTX ISA 9.0, "Parallel Synchronization and Communication Instructions: bar, membar / fence".

#include "common/target.hpp"

#include <cuda_runtime.h>

namespace sgemm::SGEMM_TARGET {

// bar_sync(id, threads): waits until `threads` threads of the block (a multiple of 32, whole warps) have arrived at
// barrier `id` (0 to 15; 0 is the one __syncthreads uses). Orders their shared-memory accesses before and after it.
//
// fence_proxy_async(): orders this thread's stores to shared memory, and the cp.async copies that it has waited for,
// before the accesses of wgmma and of bulk copies that follow the next barrier of the block.

#ifdef __CUDACC__

__device__ __forceinline__ void bar_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ __forceinline__ void fence_proxy_async() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#else
  __trap();
#endif
}

#endif

}  // namespace sgemm::SGEMM_TARGET
