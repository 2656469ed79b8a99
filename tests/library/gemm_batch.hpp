#pragma once

// A case as the library's kernels get it.

#include "gemm_call.hpp"
#include "gemm_case.hpp"

namespace sgemm::test {

inline GemmBatch batch_of(GemmOperands& operands) {
  const GemmCase& of = operands.of;
  const bool on_device = of.pointer_mode == SGEMM_POINTER_MODE_DEVICE;
  GemmCall call{of.order,
                of.transa,
                of.transb,
                of.m,
                of.n,
                of.k,
                on_device ? operands.scalars.data() : &of.alpha,
                {operands.a.data(), operands.a.ld(), operands.a.stride()},
                {operands.b.data(), operands.b.ld(), operands.b.stride()},
                on_device ? operands.scalars.data() + 1 : &of.beta,
                {operands.c.data(), operands.c.ld(), operands.c.stride()},
                of.batch};
  return row_major(call, of.pointer_mode);
}

}  // namespace sgemm::test
