#pragma once

// A kernel is compiled up to three times: for GPUs against CUDA's headers, for the executor (simt/) against stand-ins
// of the same names, and for the executor with every access to memory observed. One program may hold all three builds.
// The linker must never confuse inline functions of different builds. So code that calls CUDA lies in an inline
// namespace that bears the target's name:
//
//     namespace sgemm::SGEMM_TARGET {

#include <cuda_runtime_api.h>

#ifdef SIMT_CHECKED
#define SGEMM_TARGET for_checks
#elif defined SIMT_CUDA_RUNTIME
#define SGEMM_TARGET for_executor
#else
#define SGEMM_TARGET for_gpu
#endif

namespace sgemm {

/// The target of a build of a kernel: a GPU, the executor, the executor with every access observed, or the host itself.
enum class Target { for_gpu, for_executor, for_checks, for_host };
constexpr int TARGETS = 4;

inline namespace SGEMM_TARGET {

constexpr Target TARGET = Target::SGEMM_TARGET;

}  // namespace SGEMM_TARGET
}  // namespace sgemm
