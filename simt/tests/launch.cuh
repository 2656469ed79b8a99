#pragma once

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

/// Runs `kernel` on a row of blocks. Throws std::runtime_error where no device would take the launch.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), std::size_t blocks, dim3 threads, std::size_t dynamic_smem,
            cudaStream_t stream, Arguments... arguments) {
  const cudaLaunchConfig_t config{dim3(static_cast<unsigned>(blocks)), threads, dynamic_smem, stream};
  if (const cudaError_t error = cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...); error != cudaSuccess) {
    throw std::runtime_error(cudaGetErrorName(error));
  }
}

}  // namespace SIMT_TEST_BUILD
}  // namespace simt::test
