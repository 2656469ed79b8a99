#pragma once

// The fence between ordinary accesses to shared memory and those of two units that have a path of their own to it: the
// tensor cores (wgmma) and the tensor memory accelerator (sm_90 and later). PTX ISA 9.0, "Parallel Synchronization and
// Communication Instructions: membar / fence", "Memory Consistency Model: Proxies".

#include "common/target.hpp"

#include <cuda_runtime.h>

namespace sgemm::SGEMM_TARGET {

/// Orders this thread's stores to shared memory, and the cp.async copies that it has waited for, before the accesses of
/// wgmma and of bulk copies that follow the next barrier of the block.
__device__ __forceinline__ void fence_proxy_async() {
#ifdef __CUDACC__
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#else
  __trap();
#endif
#endif
}

}  // namespace sgemm::SGEMM_TARGET
