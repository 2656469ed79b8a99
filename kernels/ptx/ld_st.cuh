#pragma once

// Loads and stores with which blocks of one launch tell each other that data is there. PTX ISA 9.0, "Memory Consistency
// Model" (release and acquire patterns); "Data Movement and Conversion Instructions: ld, st".

#include "common/target.hpp"

#include <cuda_runtime.h>

namespace sgemm {
inline namespace SGEMM_TARGET {

// st_release_gpu(address, value): stores `value`. The store comes after the earlier accesses of this thread, and after
// those of threads that it has met at a barrier since.
//
// ld_acquire_gpu(address): loads a value. The load comes before all accesses that follow.
//
// ld_relaxed_gpu(address): loads a value that other blocks change, in no order with other accesses.
//
// These are for GPUs alone. A loop around a load would never let the executor's other blocks go on:
// engine/global_flag.cuh has the whole wait, for both.

#ifdef __CUDACC__

__device__ __forceinline__ void st_release_gpu(unsigned* address, unsigned value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

__device__ __forceinline__ unsigned ld_acquire_gpu(const unsigned* address) {
  unsigned value = 0;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

__device__ __forceinline__ unsigned ld_relaxed_gpu(const unsigned* address) {
  unsigned value = 0;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

#endif

}  // namespace SGEMM_TARGET
}  // namespace sgemm
