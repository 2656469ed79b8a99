#pragma once

#include "common/target.hpp"

#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>

namespace sgemm::test {
inline namespace SGEMM_TARGET {

/// Runs `kernel` on a row of blocks. Throws std::runtime_error where no device would take the launch.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), std::size_t blocks, dim3 threads, std::size_t dynamic_smem,
            cudaStream_t stream, Arguments... arguments) {
  const cudaLaunchConfig_t config{dim3(static_cast<unsigned>(blocks)), threads, dynamic_smem, stream};
  if (const cudaError_t error = cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...); error != cudaSuccess) {
    throw std::runtime_error(cudaGetErrorName(error));
  }
}

}  // namespace SGEMM_TARGET
}  // namespace sgemm::test
