#pragma once

// Loads and stores with which blocks of one launch tell each other that data is there, and flags in global memory made
// of them. One block raises a flag. The waiting block lowers it, so that the flag is down for the next launch. PTX ISA
// 9.0, "Memory Consistency Model" (release and acquire patterns); "Data Movement and Conversion Instructions: ld, st".

#include "common/target.hpp"

#include <cuda_runtime.h>

namespace sgemm::SGEMM_TARGET {

// st_release_gpu(address, value): stores `value`. The store comes after the earlier accesses of this thread, and after
// those of threads that it has met at a barrier since.
//
// ld_acquire_gpu(address): loads a value. The load comes before all accesses that follow.
//
// These are for GPUs alone. A loop around a load would never let the executor's other blocks go on. The following are
// for both.
//
// raise_flag(flag): everything before it comes before everything behind the wait for this flag. That holds for the
// accesses of this thread, and for those of threads that it has met at a barrier since.
//
// wait_for_flag(flag): waits until the flag is raised, and lowers it for the next launch. One thread waits for a flag.
//
// A block on a GPU may wait only for blocks of a lower index, because these have started when it starts.

#ifdef __CUDACC__

__device__ __forceinline__ void st_release_gpu(unsigned* address, unsigned value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

__device__ __forceinline__ unsigned ld_acquire_gpu(const unsigned* address) {
  unsigned value = 0;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

__device__ __forceinline__ void raise_flag(unsigned* flag) { st_release_gpu(flag, 1); }

__device__ __forceinline__ void wait_for_flag(unsigned* flag) {
  while (ld_acquire_gpu(flag) == 0) {
  }
  *flag = 0;
}

#endif

}  // namespace sgemm::SGEMM_TARGET
