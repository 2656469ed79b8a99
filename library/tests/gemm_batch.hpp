#pragma once

// A case as the library's kernels get it.

#include "gemm_call.hpp"
#include "gemm_case.hpp"

namespace sgemm::test {

inline GemmBatch batch_of(GemmOperands& operands) {
  const GemmCase& of = operands.of;
  const bool on_device = of.pointer_mode == SGEMM_POINTER_MODE_DEVICE;
  const auto matrix = [&](StoredMatrix& stored) {
    return of.by_address ? CallMatrix{nullptr, stored.ld(), 0, stored.addresses()}
                         : CallMatrix{stored.data(), stored.ld(), stored.stride()};
  };
  GemmCall call{of.order,
                of.transa,
                of.transb,
                of.m,
                of.n,
                of.k,
                on_device ? operands.scalars.device() : &of.alpha,
                matrix(operands.a),
                matrix(operands.b),
                on_device ? operands.scalars.device() + 1 : &of.beta,
                matrix(operands.c),
                of.batch,
                of.by_address};
  return row_major(call, of.pointer_mode);
}

}  // namespace sgemm::test
