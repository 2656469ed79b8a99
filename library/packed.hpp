#pragma once

// Operands that were split once, by sgemm_pack(), and serve many calls. A packed operand has the operand tiles that the
// kernel that splits would write for it: 128 lines by 64 numbers along k, each with its own scaling. They tell
// nothing of the side or the order that the operand was given for, so that it fits wherever its lines and k do.

#include "board.hpp"
#include "gemm_problem.hpp"
#include "sgemm/sgemm.h"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

/// What a sgemm_packed_t points to. Lines are rows of op(A) or columns of op(B).
struct sgemm_packed {
  static constexpr int LAYOUT = 1;  ///< of operand tiles and of this struct: raised with every change

  int layout = LAYOUT;
  int device = 0;
  sgemm_accuracy_t accuracy = SGEMM_ACCURACY_COMPONENTWISE;
  sgemm::Method method = sgemm::Method::bf16x6;  ///< whose operand tiles these are
  std::int64_t lines = 0;
  std::int64_t k = 0;
  const float* x = nullptr;  ///< the matrix: elements that are computed again are read there
  std::int64_t ld = 0;
  bool k_major = false;  ///< neighbours along k are neighbours in memory
  const void* tiles = nullptr;

  /// The op of the operand on a side of a call.
  sgemm_op_t op(sgemm_order_t order, sgemm_side_t side) const {
    return k_major == lines_are_stored(order, side, SGEMM_OP_N) ? SGEMM_OP_N : SGEMM_OP_T;
  }
  /// Whether the lines of an operand are contiguous.
  static bool lines_are_stored(sgemm_order_t order, sgemm_side_t side, sgemm_op_t op) {
    return ((order == SGEMM_ORDER_ROW_MAJOR) == (side == SGEMM_SIDE_A)) == (op == SGEMM_OP_N);
  }
};

namespace sgemm {

/// The chapter whose operand tiles a packed operand has, for an accuracy. Nothing: no chapter has them.
inline std::optional<Method> method_of_packed(sgemm_accuracy_t accuracy) {
  if (accuracy == SGEMM_ACCURACY_NORMWISE || accuracy == SGEMM_ACCURACY_ROWWISE) {
    return Method::fp16x3;
  }
  return accuracy == SGEMM_ACCURACY_COMPONENTWISE ? std::optional(Method::bf16x6) : std::nullopt;
}

/// How an operand is packed: A of a problem that has no columns.
struct Packing {
  std::size_t bytes = 0;  ///< 0: the current device has no kernel for it
  std::function<void(void* memory, cudaStream_t)> enqueue;
};
Packing bf16x6_packing(const GemmProblem& rows);
Packing fp16x3_packing(const GemmProblem& rows);
inline Packing packing(Method method, const GemmProblem& rows) {
  return method == Method::bf16x6 ? bf16x6_packing(rows) : fp16x3_packing(rows);
}

}  // namespace sgemm
