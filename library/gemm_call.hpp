#pragma once

// A call of the library as the caller gave it: the checks of its arguments, and the row-major problem that they mean.

#include "gemm_epilogue.hpp"
#include "gemm_problem.hpp"
#include "packed.hpp"
#include "sgemm/sgemm.h"

#include <cstdint>

namespace sgemm {

inline sgemm_operand_t matrix_of(sgemm_op_t op, const float* x, std::int64_t ld, std::int64_t stride = 0) {
  return {nullptr, op, x, ld, stride, nullptr};
}

/// Products that have D alone, and no epilogue.
inline sgemm_product_t product_of(sgemm_order_t order, std::int64_t m, std::int64_t n, std::int64_t k,
                                  const float* alpha, const sgemm_operand_t& a, const sgemm_operand_t& b,
                                  const float* beta, float* d, std::int64_t ldd, std::int64_t stride_of_d = 0,
                                  std::int64_t batch_count = 1) {
  const sgemm_product_t product{sizeof product, order, m, n,   k,           alpha,   a,           b,      beta,
                                nullptr,        0,     d, ldd, stride_of_d, nullptr, batch_count, nullptr};
  return product;
}

/// Whether a stored matrix has an order and an op that exist, and a leading dimension for an op(X) of so many rows and
/// columns.
bool has_valid_shape(sgemm_order_t order, sgemm_op_t op, std::int64_t rows, std::int64_t columns, std::int64_t ld);

/// Whether sizes, distances and enumerators are as sgemm.h asks. Pointers are not looked at, but for whether they are
/// null. A packed operand has the matrix that it was made of.
bool has_valid_shape(const sgemm_product_t& product);

/// Whether all pointers are as sgemm.h asks, for a product of valid shape. Scalars are read if they are on the host.
bool has_valid_pointers(const sgemm_product_t& product, sgemm_pointer_mode_t mode);

/// The row-major form of a product of valid shape, with scalars where `mode` says; without scalars if they are null. A
/// column-major C is the row-major transpose of C, and C^T = op(B)^T op(A)^T: the operands change places, and each
/// keeps its op, because its stored matrix is transposed as well.
GemmBatch row_major(const sgemm_product_t& product, sgemm_pointer_mode_t mode);

/// The epilogue of that form, and its C. Of a column-major D, rows are columns.
GemmEpilogue row_major_epilogue(const sgemm_product_t& product);

}  // namespace sgemm
