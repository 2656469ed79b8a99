#pragma once

// Reading ahead into a cache.
// PTX ISA 9.0, "Data Movement and Conversion Instructions: prefetch, prefetchu".

#include "common/target.hpp"

#include <cuda_runtime.h>

namespace sgemm {
inline namespace SGEMM_TARGET {

// prefetch_to_l2(address): starts reading the line that holds an address of global memory into the L2. Nothing waits
// for it.

#ifdef __CUDACC__

__device__ __forceinline__ void prefetch_to_l2(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

#else  // the executor's

inline void prefetch_to_l2(const void*) {}

#endif

}  // namespace SGEMM_TARGET
}  // namespace sgemm
