#pragma once

// What the tests' kernels share beside the functions of thread.hpp, and how they are launched.

#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>

// The tests hold kernels as they are and compiled to be watched. The linker would take inline functions of both builds
// for one.
#ifdef SIMT_CHECKED
#define SIMT_TEST_BUILD watched
#else
#define SIMT_TEST_BUILD unwatched
#endif

namespace simt::test {
inline namespace SIMT_TEST_BUILD {

constexpr unsigned LANES = WARP;

inline float* dynamic_smem() { return static_cast<float*>(dynamic_shared_memory()); }
inline float4 load_float4(const float* source) { return *reinterpret_cast<const float4*>(source); }
inline void store_float4(float* destination, float4 value) { *reinterpret_cast<float4*>(destination) = value; }

/// Runs `kernel` on a row of blocks. Throws std::runtime_error where no device would take the launch.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), std::size_t blocks, dim3 threads, std::size_t dynamic_smem,
            Arguments... arguments) {
  const cudaLaunchConfig_t config{dim3(static_cast<unsigned>(blocks)), threads, dynamic_smem};
  if (const cudaError_t error = cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...); error != cudaSuccess) {
    throw std::runtime_error(cudaGetErrorName(error));
  }
}

}  // namespace SIMT_TEST_BUILD
}  // namespace simt::test
