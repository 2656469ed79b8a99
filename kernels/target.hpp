#pragma once

// Kernels are compiled for GPUs against CUDA's headers, and for the executor (simt/) against headers of the same names
// that stand in for them. One program may hold both, and then the linker must never take an inline function of the one
// for its namesake of the other. So whatever calls CUDA lies in an inline namespace that bears the target's name:
//
//     namespace sgemm {
//     inline namespace SGEMM_TARGET {

#include <cuda_runtime_api.h>

#ifdef SIMT_CUDA_RUNTIME
#define SGEMM_TARGET for_executor
#else
#define SGEMM_TARGET for_gpu
#endif

namespace sgemm {
inline namespace SGEMM_TARGET {

#ifdef SIMT_CUDA_RUNTIME
constexpr bool ON_EXECUTOR = true;
#else
constexpr bool ON_EXECUTOR = false;
#endif

}  // namespace SGEMM_TARGET
}  // namespace sgemm
