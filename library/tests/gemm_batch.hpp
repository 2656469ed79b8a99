#pragma once

// A case as the library's kernels get it.

#include "algorithm.hpp"
#include "epilogue_case.hpp"
#include "gemm_call.hpp"
#include "gemm_case.hpp"

#include <cstdint>
#include <vector>

namespace sgemm::test {

constexpr int MULTIPROCESSORS = 132;  ///< of an H200

inline GemmBatch batch_of(GemmOperands& operands) { return row_major(operands.product(), operands.of.pointer_mode); }

/// A row-major product of contiguous matrices that are nowhere.
inline GemmProblem problem_of(std::int64_t m, std::int64_t n, std::int64_t k, bool a_transposed = false,
                              bool b_transposed = false) {
  const auto op = [](bool transposed) { return transposed ? SGEMM_OP_T : SGEMM_OP_N; };
  return row_major(product_of(m, n, k, op(a_transposed), op(b_transposed)), SGEMM_POINTER_MODE_HOST).first;
}

/// A case of a layout. Kernels see products of rows alone: row_major() swaps the operands of the others. Two of the
/// four layouts are of each order, so that kernels see all four.
inline GemmCase laid_out(std::int64_t m, std::int64_t n, std::int64_t k, sgemm_op_t transa, sgemm_op_t transb,
                         sgemm_accuracy_t accuracy = SGEMM_ACCURACY_COMPONENTWISE) {
  const sgemm_order_t order = transa == transb ? SGEMM_ORDER_ROW_MAJOR : SGEMM_ORDER_COLUMN_MAJOR;
  return GemmCase{m, n, k, order, transa, transb}.with(accuracy);
}

inline std::vector<Algorithm> joined(std::vector<Algorithm> all, const std::vector<Algorithm>& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// Memory for an algorithm to work in, which holds anything before.
inline Mirrored<float> workspace_of(const Algorithm& algorithm) {
  return {algorithm.workspace_bytes / sizeof(float) + 1, NAN_FLOAT};
}

/// Enqueues the products of a batch.
inline void launch(const Algorithm& algorithm, const GemmBatch& batch) {
  algorithm.launch(batch, workspace_of(algorithm).device(), nullptr);
}

/// Enqueues D and its epilogue by an algorithm that has epilogues.
inline void launch_with_epilogue(const Algorithm& algorithm, EpilogueOperands& operands, void* workspace,
                                 const PackedTiles& packed = {}) {
  const sgemm_epilogue_t epilogue = operands.epilogue();
  const sgemm_product_t product = operands.product(epilogue);
  GemmBatch batch = row_major(product, operands.gemm.of.pointer_mode);
  batch.first.packed = packed;
  algorithm.launch_with_epilogue(batch, row_major_epilogue(product), workspace, nullptr);
}

}  // namespace sgemm::test
