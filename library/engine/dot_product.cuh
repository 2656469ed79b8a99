#pragma once

#include "common/problem.hpp"
#include "common/target.hpp"

#include <cuda_runtime.h>

#include <cstdint>

namespace sgemm {
inline namespace SGEMM_TARGET {

/// Element (row, col) of A * B, by one thread, for the few elements that a kernel can not compute in its own way.
__device__ __forceinline__ float dot_product(const Problem& p, std::int64_t row, std::int64_t col) {
  float sum = 0.0F;
  for (std::int64_t k = 0; k < p.k; ++k) {
    sum += p.a[row * p.lda + k] * p.b[k * p.ldb + col];
  }
  return sum;
}

}  // namespace SGEMM_TARGET
}  // namespace sgemm
