#pragma once

// A call of the library: its arguments as the caller gave them, their checks, and the row-major problem that they mean.

#include "gemm_epilogue.hpp"
#include "gemm_problem.hpp"
#include "packed.hpp"
#include "sgemm/sgemm.h"

#include <cstdint>

namespace sgemm {

/// An operand as the caller gave it.
struct CallMatrix {
  const float* data = nullptr;
  std::int64_t ld = 0;
  std::int64_t stride = 0;  ///< between products of a batch
  /// The addresses of the matrices of a batch, in the GPU's memory, instead of `data` and `stride`.
  const float* const* addresses = nullptr;
  const sgemm_packed* packed = nullptr;  ///< whose `data` and `ld` these are
};

/// The arguments of sgemm_gemm(), or those of sgemm_run() without an epilogue.
struct GemmCall {
  sgemm_order_t order = SGEMM_ORDER_COLUMN_MAJOR;
  sgemm_op_t transa = SGEMM_OP_N;
  sgemm_op_t transb = SGEMM_OP_N;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const float* alpha = nullptr;
  CallMatrix a;
  CallMatrix b;
  const float* beta = nullptr;
  CallMatrix c;  ///< is written
  std::int64_t batch_count = 1;
  bool by_address = false;  ///< matrices have `addresses`
};

/// What sgemm_run() may have besides. D is GemmCall::c.
struct EpilogueCall {
  CallMatrix c;
  const sgemm_epilogue_t* epilogue = nullptr;
};

/// Whether an operand has an op that exists, and a leading dimension for an op(X) of so many rows and columns.
bool has_valid_shape(sgemm_order_t order, sgemm_op_t op, std::int64_t rows, std::int64_t columns,
                     const CallMatrix& operand);

/// Whether sizes, distances and enumerators are as sgemm.h asks. Pointers are not looked at.
bool has_valid_shape(const GemmCall& call);

/// Whether all pointers are as sgemm.h asks, for a call of valid shape. Scalars are read if they are on the host.
bool has_valid_pointers(const GemmCall& call, sgemm_pointer_mode_t mode);

/// The row-major form of a call of valid shape, with scalars where `mode` says; without scalars if they are null. A
/// column-major C is the row-major transpose of C, and C^T = op(B)^T op(A)^T: the operands change places, and each
/// keeps its op, because its stored matrix is transposed as well.
GemmBatch row_major(const GemmCall& call, sgemm_pointer_mode_t mode);

/// The same for what an epilogue adds to a call that is right without it.
bool has_valid_shape(const GemmCall& call, const EpilogueCall& more);
bool has_valid_pointers(const GemmCall& call, const EpilogueCall& more, sgemm_pointer_mode_t mode);

/// The epilogue of the row-major form of a call. Of a column-major D, rows are columns.
GemmEpilogue row_major(const GemmCall& call, const EpilogueCall& more);

}  // namespace sgemm
