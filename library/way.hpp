#pragma once

#include "gemm_problem.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <string>

namespace sgemm {

/// A way to compute a product on the current device: a configuration of a chapter.
struct Way {
  std::string kernel;         ///< "11_bf16x6"
  std::string configuration;  ///< "128x256 stream-k"
  std::size_t workspace_bytes = 0;
  double microseconds = 0.0;  ///< predicted, for all products of the batch that the way was made for
  int kernels = 1;            ///< that one launch enqueues
  /// Enqueues a product of the shape and layout that the way was made for. The workspace may hold anything. Throws
  /// CudaError.
  std::function<void(const GemmProblem&, void* workspace, cudaStream_t)> launch;
};

}  // namespace sgemm
