#pragma once

// Flags in global memory, by which one block tells another of the same launch that data is there.
// PTX ISA 9.0, "Memory Consistency Model" (release and acquire patterns); "Data Movement and Conversion Instructions:
// ld, st".

#include "common/target.hpp"

#include <cuda_runtime.h>

namespace sgemm {
inline namespace SGEMM_TARGET {

// raise_flag(flag): what this thread did so far, and what threads did that it has met at a barrier since, comes before
// whatever follows the wait for this flag.
//
// wait_for_flag(flag): waits until the flag is raised, and lowers it for the next launch. One thread waits for a flag.
// wait_for_flag_together(flag): the same by all threads of one warp. The compiler knows that they leave the loop
// together, and what is the same for all of them stays in registers that a warp has once: uniform ones. On a GPU a
// block may wait for blocks of a lower index alone: those have started when it starts.

#ifdef __CUDACC__

__device__ __forceinline__ void raise_flag(unsigned* flag) {
  asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
}

__device__ __forceinline__ void wait_for_flag(unsigned* flag) {
  unsigned raised = 0;
  do {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(raised) : "l"(flag) : "memory");
  } while (raised == 0);
  *flag = 0;
}

__device__ __forceinline__ void wait_for_flag_together(unsigned* flag) {
  unsigned raised = 0;
  do {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(raised) : "l"(flag) : "memory");
  } while (__all_sync(~0U, static_cast<int>(raised)) == 0);
  if (threadIdx.x % 32 == 0) {
    *flag = 0;
  }
}

#else  // the executor's

inline void raise_flag(unsigned* flag) { simt::raise_flag(flag); }
inline void wait_for_flag(unsigned* flag) { simt::wait_for_flag(flag); }
inline void wait_for_flag_together(unsigned* flag) {
  if (threadIdx.x % 32 == 0) {
    simt::wait_for_flag(flag);
  }
  __syncwarp();
}

#endif

}  // namespace SGEMM_TARGET
}  // namespace sgemm
