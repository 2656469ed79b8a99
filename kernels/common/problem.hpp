#pragma once

#include <cstdint>

namespace sgemm {

/// Products without their operands: C = alpha * A * B + beta * C, where A is m x k, B is k x n and C is m x n.
/// Each dimension is below 2^31.
///
/// Chapters compute one product of operands that are not transposed. The last three members are for libraries.
struct Shape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  float alpha = 1.0F;
  float beta = 0.0F;
  bool transposed_a = false;  ///< A lies in memory as its transpose, k x m
  bool transposed_b = false;  ///< B lies in memory as its transpose, n x k
  std::int64_t batch = 1;     ///< products of this shape, each with an A, a B and a C of its own
};

/// A shape with its operands, all row-major in single precision.
///
/// `lda`, `ldb` and `ldc` are the distances between the starts of two neighbouring rows in memory, in elements; they
/// are at least k, n and n, or m and k where A and B are transposed. The matrices of a batch follow one another without
/// a gap. The pointers belong to the memory of the platform that runs the kernel and need no alignment beyond that of a
/// float.
///
/// As in BLAS, C is not read when beta == 0, and A and B are not read when alpha == 0.
struct Problem : Shape {
  const float* a = nullptr;
  std::int64_t lda = 0;
  const float* b = nullptr;
  std::int64_t ldb = 0;
  float* c = nullptr;
  std::int64_t ldc = 0;
};

/// Row and column of C where a tile begins.
struct TileOrigin {
  std::int64_t row;
  std::int64_t col;
};

/// Whether every row of a matrix with `columns` columns starts on a 16-byte boundary and splits into whole groups of
/// four, so that 128-bit accesses neither misalign nor cross the end of a row.
inline bool rows_split_into_float4(const float* matrix, std::int64_t columns, std::int64_t leading_dimension) {
  return reinterpret_cast<std::uintptr_t>(matrix) % (4 * sizeof(float)) == 0 && columns % 4 == 0 &&
         leading_dimension % 4 == 0;
}

}  // namespace sgemm
