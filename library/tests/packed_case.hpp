#pragma once

// Calls of sgemm_gemm_packed(), for a GPU and the executor.

#include "gemm_case.hpp"
#include "sgemm/sgemm.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace sgemm::test {

/// An operand of a case that is packed through the C interface. The handle has the case's accuracy.
class PackedOperand {
 public:
  PackedOperand(sgemm_handle_t handle, GemmOperands& operands, sgemm_side_t side)
      : PackedOperand(handle, operands.of, side, side == SGEMM_SIDE_A ? operands.a : operands.b) {}
  ~PackedOperand() {
    EXPECT_EQ(sgemm_packed_destroy(packed_), SGEMM_STATUS_SUCCESS);
    cudaFree(memory_);
  }
  PackedOperand(const PackedOperand&) = delete;
  PackedOperand& operator=(const PackedOperand&) = delete;

  sgemm_operand_t operand() const { return {packed_, SGEMM_OP_N, nullptr, 0}; }
  sgemm_packed_t get() const { return packed_; }

 private:
  PackedOperand(sgemm_handle_t handle, const GemmCase& of, sgemm_side_t side, StoredMatrix& matrix) {
    const std::int64_t lines = side == SGEMM_SIDE_A ? of.m : of.n;
    const sgemm_op_t op = side == SGEMM_SIDE_A ? of.transa : of.transb;
    sgemm_set_accuracy(handle, of.accuracy);
    std::size_t bytes = 0;
    EXPECT_EQ(sgemm_packed_size(handle, lines, of.k, &bytes), SGEMM_STATUS_SUCCESS);
    EXPECT_EQ(cudaMalloc(&memory_, bytes), cudaSuccess);
    EXPECT_EQ(cudaMemset(memory_, 0xFF, bytes), cudaSuccess);  // it may hold anything
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);           // the handle's stream need not wait for the default one
    EXPECT_EQ(sgemm_pack(handle, of.order, side, op, lines, of.k, matrix.data(), matrix.ld(), memory_, bytes, &packed_),
              SGEMM_STATUS_SUCCESS);
  }

  void* memory_ = nullptr;
  sgemm_packed_t packed_ = nullptr;
};

/// The operands of a case as sgemm_gemm_packed() takes them where they are not packed.
inline sgemm_operand_t plain_a(GemmOperands& operands) {
  return {nullptr, operands.of.transa, operands.a.data(), operands.a.ld()};
}
inline sgemm_operand_t plain_b(GemmOperands& operands) {
  return {nullptr, operands.of.transb, operands.b.data(), operands.b.ld()};
}

/// Calls the library. D is C.
inline sgemm_status_t call_packed(sgemm_handle_t handle, GemmOperands& operands, const sgemm_operand_t& a,
                                  const sgemm_operand_t& b) {
  const GemmCase& of = operands.of;
  sgemm_set_accuracy(handle, of.accuracy);
  sgemm_set_pointer_mode(handle, of.pointer_mode);
  const bool on_device = of.pointer_mode == SGEMM_POINTER_MODE_DEVICE;
  return sgemm_gemm_packed(handle, of.order, of.m, of.n, of.k, on_device ? operands.scalars.device() : &of.alpha, &a,
                           &b, on_device ? operands.scalars.device() + 1 : &of.beta, operands.c.data(), operands.c.ld(),
                           operands.c.data(), operands.c.ld(), nullptr);
}

inline sgemm_plan_t plan_of_packed(sgemm_handle_t handle, GemmOperands& operands, const sgemm_operand_t& a,
                                   const sgemm_operand_t& b) {
  const GemmCase& of = operands.of;
  sgemm_set_accuracy(handle, of.accuracy);
  sgemm_set_pointer_mode(handle, of.pointer_mode);
  sgemm_plan_t plan{};
  EXPECT_EQ(sgemm_gemm_packed_plan(handle, of.order, of.m, of.n, of.k, &a, &b, operands.c.ld(), nullptr, &plan),
            SGEMM_STATUS_SUCCESS);
  return plan;
}

}  // namespace sgemm::test
