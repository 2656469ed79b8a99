#pragma once

// Warps that need few registers hand some to warps that need many. PTX ISA 9.0, "Miscellaneous Instructions:
// setmaxnreg".

#include "common/target.hpp"

#include <cuda_runtime.h>

namespace sgemm::SGEMM_TARGET {

// setmaxnreg_dec<LIMIT>(): returns the registers above LIMIT to the block's pool.
// setmaxnreg_inc<LIMIT>(): waits until the pool holds enough, and takes them.
//
// All threads of a warpgroup (four neighbouring warps, the first a multiple of four) call it once, in kernels whose
// __launch_bounds__ say one block per SM. The block starts with as many registers per thread as 64 Ki of them allow,
// in steps of 8. LIMIT is a multiple of 8 from 24 to 240.
//
// Only code for sm_90a has the instruction; elsewhere every thread keeps what it started with.

template <int LIMIT>
__device__ __forceinline__ void setmaxnreg_dec() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(LIMIT));
#endif
}

template <int LIMIT>
__device__ __forceinline__ void setmaxnreg_inc() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(LIMIT));
#endif
}

}  // namespace sgemm::SGEMM_TARGET
