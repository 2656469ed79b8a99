#pragma once

// Products of packed operands, for a GPU and the executor.

#include "gemm_case.hpp"
#include "sgemm/sgemm.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace sgemm::test {

/// An operand of a case that is packed through the C interface. The handle has the case's accuracy.
class PackedOperand {
 public:
  PackedOperand(sgemm_handle_t handle, GemmOperands& operands, sgemm_side_t side)
      : PackedOperand(handle, operands.of, side, side == SGEMM_SIDE_A ? operands.a : operands.b) {}
  ~PackedOperand() { EXPECT_EQ(sgemm_packed_destroy(packed_), SGEMM_STATUS_SUCCESS); }
  PackedOperand(const PackedOperand&) = delete;
  PackedOperand& operator=(const PackedOperand&) = delete;

  sgemm_operand_t operand() const { return {packed_, SGEMM_OP_N, nullptr, 0, 0, nullptr}; }
  sgemm_packed_t get() const { return packed_; }

 private:
  PackedOperand(sgemm_handle_t handle, const GemmCase& of, sgemm_side_t side, StoredMatrix& matrix) {
    const std::int64_t lines = side == SGEMM_SIDE_A ? of.m : of.n;
    const sgemm_op_t op = side == SGEMM_SIDE_A ? of.transa : of.transb;
    set(handle, of);
    std::size_t bytes = 0;
    EXPECT_EQ(sgemm_packed_size(handle, lines, of.k, &bytes), SGEMM_STATUS_SUCCESS);
    memory_ = DeviceBuffer<char>(bytes);
    EXPECT_EQ(cudaMemset(memory_.data(), 0xFF, bytes), cudaSuccess);  // it may hold anything
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);  // the handle's stream need not wait for the default one
    EXPECT_EQ(sgemm_pack(handle, of.order, side, op, lines, of.k, matrix.data(), matrix.ld(), memory_.data(), bytes,
                         &packed_),
              SGEMM_STATUS_SUCCESS);
  }

  DeviceBuffer<char> memory_;
  sgemm_packed_t packed_ = nullptr;
};

/// A case with packed operands where they are not null.
inline sgemm_product_t product_of(GemmOperands& operands, const PackedOperand* a, const PackedOperand* b) {
  sgemm_product_t product = operands.product();
  product.a = a != nullptr ? a->operand() : product.a;
  product.b = b != nullptr ? b->operand() : product.b;
  return product;
}

inline bool same_bits(const std::vector<float>& x, const std::vector<float>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

}  // namespace sgemm::test
