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
  GemmOperands& gemm = operands.gemm;
  const sgemm_epilogue_t epilogue = operands.epilogue();
  GemmCall call;
  call.order = gemm.of.order;
  call.c = {operands.d().data(), operands.d().ld()};
  GemmBatch batch = batch_of(gemm);
  batch.first.c = operands.d().data();
  batch.first.ldc = operands.d().ld();
  batch.first.packed = packed;
  algorithm.launch_with_epilogue(batch, row_major(call, {{gemm.c.data(), gemm.c.ld()}, &epilogue}), workspace, nullptr);
}

}  // namespace sgemm::test
