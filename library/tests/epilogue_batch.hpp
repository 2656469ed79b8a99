#pragma once

// A case with an epilogue as the library's kernels get it.

#include "algorithm.hpp"
#include "epilogue_case.hpp"
#include "gemm_batch.hpp"
#include "gemm_call.hpp"

namespace sgemm::test {

/// The epilogue of the row-major form of a case.
inline GemmEpilogue row_major_epilogue(EpilogueOperands& operands) {
  GemmCall call;
  call.order = operands.gemm.of.order;
  call.c = {operands.d().data(), operands.d().ld()};
  const sgemm_epilogue_t epilogue = operands.epilogue();
  return row_major(call, {{operands.gemm.c.data(), operands.gemm.c.ld()}, &epilogue});
}

/// Enqueues D and its epilogue by an algorithm that has epilogues.
inline void launch_with_epilogue(const Algorithm& algorithm, EpilogueOperands& operands, void* workspace,
                                 const PackedTiles& packed = {}) {
  GemmOperands& gemm = operands.gemm;
  GemmBatch batch = batch_of(gemm);
  batch.first.c = operands.d().data();
  batch.first.ldc = operands.d().ld();
  batch.first.packed = packed;
  algorithm.launch_with_epilogue(batch, row_major_epilogue(operands), workspace, nullptr);
}

}  // namespace sgemm::test
