#pragma once

#include <cstdint>

namespace sgemm {

/// One C = alpha * A * B + beta * C, all matrices row-major, single precision.
///
/// A is m x k, B is k x n, C is m x n, each dimension below 2^31. `lda`, `ldb` and `ldc` are the distances between the
/// starts of two neighbouring rows, in elements; they are at least k, n and n. The pointers belong to the memory of the
/// platform that runs the kernel and need no alignment beyond that of a float.
///
/// As in BLAS, C is not read when beta == 0, and A and B are not read when alpha == 0.
struct Problem {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  float alpha = 1.0F;
  float beta = 0.0F;
  const float* a = nullptr;
  std::int64_t lda = 0;
  const float* b = nullptr;
  std::int64_t ldb = 0;
  float* c = nullptr;
  std::int64_t ldc = 0;
};

/// Floating-point operations of one problem: a multiplication and an addition for every (row, column, k).
inline double flops(const Problem& p) {
  return 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
}

}  // namespace sgemm
