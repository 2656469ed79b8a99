#pragma once

// Two kernels in a row, where the second starts before the first has ended (sm_90 and later). So the launch and the
// first steps of the second cost no time of their own. host/launch.cuh launches the second one. PTX ISA 9.0, "Parallel
// Synchronization and Communication Instructions: griddepcontrol"; CUDA Programming Guide, "Programmatic Dependent
// Launch".

#include "common/target.hpp"

#include <cuda_runtime.h>

namespace sgemm::SGEMM_TARGET {

// griddepcontrol_launch_dependents(): the first kernel calls it. Once every block has called it or ended, blocks of the
// next one start wherever there is room.
//
// griddepcontrol_wait(): the second kernel calls it before the first use of what the first one wrote. It waits until
// that has ended.

#ifdef __CUDACC__

__device__ __forceinline__ void griddepcontrol_launch_dependents() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

__device__ __forceinline__ void griddepcontrol_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#endif

}  // namespace sgemm::SGEMM_TARGET
