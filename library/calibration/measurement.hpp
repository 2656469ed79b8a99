#pragma once

#include "algorithm.hpp"
#include "blas.hpp"
#include "cuda_guard.hpp"
#include "gemm_problem.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace sgemm {

/// A product, or a batch of them, of contiguous row-major matrices without addresses.
GemmBatch contiguous(std::int64_t m, std::int64_t n, std::int64_t k, bool a_transposed, bool b_transposed,
                     std::int64_t count = 1);

/// Times of products on the current device: medians of calls with a cold L2, behind another kernel, by events, in
/// microseconds. Throws CudaError and StatusError.
class Measurement {
 public:
  /// Has operands for products with at most so many elements of A, of B or of C, if the memory has room for them.
  explicit Measurement(std::size_t elements);
  ~Measurement();
  Measurement(const Measurement&) = delete;
  Measurement& operator=(const Measurement&) = delete;

  /// Nothing: there is no room.
  std::optional<double> of_cublas(const GemmBatch& shape);
  std::optional<double> of(const Algorithm& algorithm, const GemmBatch& shape);

 private:
  Measurement() = default;
  bool place(GemmBatch& batch) const;
  double median_of(const std::function<void()>& enqueue);
  double sample(const std::function<void()>& enqueue);

  std::size_t elements_ = 0;
  std::size_t flushed_bytes_ = 0;
  std::array<void*, 5> memory_{};  ///< A, B, C, what is written between calls, and the workspace
  std::size_t workspace_bytes_ = 0;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  Blas blas_{context_id()};
};

}  // namespace sgemm
