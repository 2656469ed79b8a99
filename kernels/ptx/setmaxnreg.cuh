#pragma once

// What a kernel says about registers that the language has no words for.

#include "common/target.hpp"

#include <cuda_runtime.h>

namespace sgemm {
inline namespace SGEMM_TARGET {

/// Returns `value` as something that the compiler can not see through: it neither computes it again at every use nor
/// computes in advance, and keeps in registers, what depends on it.
__device__ __forceinline__ unsigned keep_in_register(unsigned value) {
#ifdef __CUDACC__
  asm volatile("" : "+r"(value));
#endif
  return value;
}
__device__ __forceinline__ const float* keep_in_register(const float* value) {
#ifdef __CUDACC__
  asm volatile("" : "+l"(value));
#endif
  return value;
}

// Registers handed from warps that need few to warps that need many.
// PTX ISA 9.0, "Miscellaneous Instructions: setmaxnreg".
//
// Called once by all threads of a warpgroup (four neighbouring warps, the first a multiple of four), in kernels whose
// __launch_bounds__ say one block per SM. The block starts with as many registers per thread as 64 Ki of them allow,
// in steps of 8; lower_register_limit returns what lies above LIMIT to the block's pool, raise_register_limit waits
// until the pool holds enough. LIMIT is a multiple of 8 from 24 to 240.
//
// Only code for sm_90a has the instruction; elsewhere every thread keeps what it started with.

#if defined(__CUDACC__) && defined(__CUDA_ARCH_FEAT_SM90_ALL)

template <int LIMIT>
__device__ __forceinline__ void lower_register_limit() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(LIMIT));
}

template <int LIMIT>
__device__ __forceinline__ void raise_register_limit() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(LIMIT));
}

#else

template <int LIMIT>
__device__ __forceinline__ void lower_register_limit() {}

template <int LIMIT>
__device__ __forceinline__ void raise_register_limit() {}

#endif

}  // namespace SGEMM_TARGET
}  // namespace sgemm
