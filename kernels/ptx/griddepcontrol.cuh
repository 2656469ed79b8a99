#pragma once

// Two kernels in a row of which the second starts before the first has ended (sm_90 and later), so that its launch and
// its beginnings cost no time of their own.
// PTX ISA 9.0, "Parallel Synchronization and Communication Instructions: griddepcontrol"; CUDA Programming Guide,
// "Programmatic Dependent Launch".

#include "common/target.hpp"
#include "host/chapter.cuh"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace sgemm {
inline namespace SGEMM_TARGET {

// let_next_kernel_start(): by the first kernel. Once every block has called it or ended, blocks of the next one start
// wherever there is room.
//
// wait_for_kernel_before(): by the second kernel, before the first use of what the first one wrote. Waits until that
// has ended.
//
// launch_dependent(...): as launch(), for the second kernel.

#ifdef __CUDACC__

__device__ __forceinline__ void let_next_kernel_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

__device__ __forceinline__ void wait_for_kernel_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

template <class... Parameters, class... Arguments>
void launch_dependent(void (*kernel)(Parameters...), std::int64_t blocks, dim3 threads, std::size_t dynamic_smem,
                      cudaStream_t stream, Arguments... arguments) {
  allow_dynamic_smem(kernel, dynamic_smem);
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = threads;
  config.dynamicSmemBytes = dynamic_smem;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...));
}

#else  // the executor runs one kernel after the other

inline void let_next_kernel_start() {}
inline void wait_for_kernel_before() {}

template <class... Parameters, class... Arguments>
void launch_dependent(void (*kernel)(Parameters...), std::int64_t blocks, dim3 threads, std::size_t dynamic_smem,
                      cudaStream_t stream, Arguments... arguments) {
  launch(kernel, blocks, threads, dynamic_smem, stream, arguments...);
}

#endif

}  // namespace SGEMM_TARGET
}  // namespace sgemm
