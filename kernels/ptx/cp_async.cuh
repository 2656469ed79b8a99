#pragma once

// Asynchronous copies from global to shared memory that bypass registers (sm_80 and later).
// PTX ISA 9.0, "Data Movement and Conversion Instructions: Non-bulk copy" (cp.async and its groups).

#include "common/target.hpp"

#include <cuda_runtime.h>

namespace sgemm::SGEMM_TARGET {

// cp_async<BYTES, OFFSET>(destination, source): starts copying BYTES (4, 8 or 16) from `source` in global memory to the
// shared address `destination`, both aligned to BYTES, and both OFFSET bytes further on. The data may be read after
// cp_async_wait_group and a barrier among the threads involved. 16-byte copies go through L2 only (.cg); others exist
// only with L1 allocation (.ca).
//
// cp_async_zfill<BYTES>(destination, source, valid): copies as cp_async does where `valid` is true. Elsewhere it
// writes zeros and does not read `source`.
//
// cp_async_commit_group(): closes the group of this thread's copies started since the last commit; an empty group
// counts as well.
//
// cp_async_wait_group<PENDING>(): waits until at most PENDING of this thread's youngest groups are still under way.

#if defined(__CUDACC__) && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)

template <int BYTES, int OFFSET = 0>
__device__ __forceinline__ void cp_async(unsigned destination, const void* source) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16);
  if constexpr (BYTES == 16) {
    asm volatile("cp.async.cg.shared.global [%0 + %2], [%1 + %2], 16;" ::"r"(destination), "l"(source), "n"(OFFSET)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0 + %2], [%1 + %2], %3;" ::"r"(destination), "l"(source), "n"(OFFSET),
                 "n"(BYTES)
                 : "memory");
  }
}

template <int BYTES>
__device__ __forceinline__ void cp_async_zfill(unsigned destination, const void* source, bool valid) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16);
  const int source_bytes = valid ? BYTES : 0;
  if constexpr (BYTES == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(destination), "l"(source), "r"(source_bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(destination), "l"(source), "n"(BYTES),
                 "r"(source_bytes)
                 : "memory");
  }
}

__device__ __forceinline__ void cp_async_commit_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int PENDING>
__device__ __forceinline__ void cp_async_wait_group() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

#endif

}  // namespace sgemm::SGEMM_TARGET
