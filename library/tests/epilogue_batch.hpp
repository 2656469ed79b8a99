#pragma once

// A case with an epilogue as the library's kernels get it.

#include "algorithm.hpp"
#include "epilogue_case.hpp"
#include "gemm_batch.hpp"
#include "gemm_call.hpp"

namespace sgemm::test {

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
