#pragma once

#include "common/target.hpp"

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace sgemm::SGEMM_TARGET {

/// A CUDA runtime call that did not succeed. The runner turns it into the outcome `failed`.
class CudaError : public std::runtime_error {
 public:
  CudaError(cudaError_t code, const char* call, const char* file, int line)
      : std::runtime_error(std::string(cudaGetErrorName(code)) + " (" + cudaGetErrorString(code) + ") from " + call +
                           " at " + file + ":" + std::to_string(line)),
        code_(code) {}

  cudaError_t code() const { return code_; }

 private:
  cudaError_t code_;
};

}  // namespace sgemm::SGEMM_TARGET

/// Throws sgemm::CudaError when a CUDA runtime call fails. A macro only because it names the call and its place.
#define CUDA_CHECK(call)                                                  \
  do {                                                                    \
    const cudaError_t cuda_check_code = (call);                           \
    if (cuda_check_code != cudaSuccess) {                                 \
      throw sgemm::CudaError(cuda_check_code, #call, __FILE__, __LINE__); \
    }                                                                     \
  } while (false)
