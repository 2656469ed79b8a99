#pragma once

// More of kernels/ptx/ld_st.cuh. PTX ISA 9.0, "Data Movement and Conversion Instructions: ld".

#include "ptx/ld_st.cuh"

namespace sgemm::SGEMM_TARGET {

// ld_relaxed_gpu(address): loads a value that other blocks change, in no order with other accesses. For GPUs alone.
//
// wait_for_flag_together(flag): all threads of one warp wait as wait_for_flag does. The compiler knows that they leave
// the loop together. So it keeps values that are the same for all of them in uniform registers, which a warp has once.

#ifdef __CUDACC__

__device__ __forceinline__ unsigned ld_relaxed_gpu(const unsigned* address) {
  unsigned value = 0;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

__device__ __forceinline__ void wait_for_flag_together(unsigned* flag) {
  while (__all_sync(~0U, static_cast<int>(ld_acquire_gpu(flag))) == 0) {
  }
  if (threadIdx.x % 32 == 0) {
    *flag = 0;
  }
}

#else  // the executor's

inline void wait_for_flag_together(unsigned* flag) {
  if (threadIdx.x % 32 == 0) {
    simt::wait_for_flag(flag);
  }
  __syncwarp();
}

#endif

}  // namespace sgemm::SGEMM_TARGET
