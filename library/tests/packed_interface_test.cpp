// The C interface of packed operands: what it computes, and what it refuses. Compiled for the executor and for GPUs.

#include "gemm_case.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace sgemm::test {
namespace {

class PackedInterfaceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_wgmma()) {
      GTEST_SKIP() << "packed operands need wgmma";
    }
  }

  const Handle handle_;
};

/// Small products are cuBLAS's, which reads the matrices themselves: they have to be right wherever packed operands
/// say.
TEST_F(PackedInterfaceTest, AllLayoutsSidesAndScalars) {
  for (const auto& [order, transa, transb, mode] : combinations(ORDERS, OPS, OPS, POINTER_MODES)) {
    GemmOperands operands(GemmCase{13, 7, 29, order, transa, transb, -2.5F, 0.5F, 5}.with(mode));
    const Expected expected(operands);
    const std::vector<float> before = operands.c.memory().host();
    const PackedOperand a(handle_, operands, SGEMM_SIDE_A);
    const PackedOperand b(handle_, operands, SGEMM_SIDE_B);
    for (const auto& [packs_a, packs_b] : combinations(BOTH, BOTH)) {
      operands.c.memory().host() = before;
      operands.c.memory().upload();
      expected.check_call(handle_, operands, product_of(operands, packs_a ? &a : nullptr, packs_b ? &b : nullptr));
    }
  }
}

/// The lines of a matrix are the same on both sides and in both orders.
TEST_F(PackedInterfaceTest, AnOperandFitsBothSides) {
  GemmCase rows{12, 12, 20, SGEMM_ORDER_ROW_MAJOR, SGEMM_OP_N, SGEMM_OP_T};
  GemmOperands operands(rows);
  const PackedOperand x(handle_, operands, SGEMM_SIDE_A);
  GemmOperands square(rows);  // X X^T
  for (std::int64_t line = 0; line < 12; ++line) {
    for (std::int64_t k = 0; k < 20; ++k) {
      square.op_b(0, k, line) = square.op_a(0, line, k);
    }
  }
  square.upload();
  const Expected expected(square);
  for (const sgemm_order_t order : ORDERS) {  // which is symmetric
    sgemm_product_t product = product_of(square, &x, &x);
    product.order = order;
    expected.check_call(handle_, square, product);
  }
}

TEST_F(PackedInterfaceTest, SizesAreThoseOfTheTerms) {
  const auto size_of = [&](sgemm_accuracy_t accuracy, std::int64_t lines, std::int64_t k) {
    std::size_t bytes = 0;
    sgemm_set_accuracy(handle_, accuracy);
    EXPECT_EQ(sgemm_packed_size(handle_, lines, k, &bytes), SGEMM_STATUS_SUCCESS);
    return bytes;
  };
  constexpr std::size_t NUMBERS = std::size_t{1024} * 2048;
  const auto is_near = [](std::size_t bytes, std::size_t terms) { return bytes > terms && bytes < terms * 51 / 50; };
  EXPECT_TRUE(is_near(size_of(SGEMM_ACCURACY_COMPONENTWISE, 1024, 2048), NUMBERS * 6));
  EXPECT_TRUE(is_near(size_of(SGEMM_ACCURACY_NORMWISE, 1024, 2048), NUMBERS * 4));
  EXPECT_EQ(size_of(SGEMM_ACCURACY_ROWWISE, 1024, 2048), size_of(SGEMM_ACCURACY_NORMWISE, 1024, 2048));
  std::size_t bytes = 0;
  for (const sgemm_accuracy_t accuracy : {SGEMM_ACCURACY_FP32, SGEMM_ACCURACY_REPRODUCIBLE}) {
    sgemm_set_accuracy(handle_, accuracy);
    EXPECT_EQ(sgemm_packed_size(handle_, 10, 10, &bytes), SGEMM_STATUS_NOT_SUPPORTED);
  }
  sgemm_set_accuracy(handle_, SGEMM_ACCURACY_COMPONENTWISE);
  EXPECT_EQ(sgemm_packed_size(handle_, 0, 10, &bytes), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(sgemm_packed_size(handle_, 10, -1, &bytes), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(sgemm_packed_size(handle_, 10, 10, nullptr), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(sgemm_packed_size(nullptr, 10, 10, &bytes), SGEMM_STATUS_NOT_INITIALIZED);
}

TEST_F(PackedInterfaceTest, BadArgumentsOfPackMakeNothing) {
  sgemm_set_accuracy(handle_, SGEMM_ACCURACY_COMPONENTWISE);
  std::size_t size = 0;
  ASSERT_EQ(sgemm_packed_size(handle_, 10, 20, &size), SGEMM_STATUS_SUCCESS);
  DeviceBuffer<char> allocated(size + SGEMM_WORKSPACE_ALIGNMENT);
  void* memory = allocated.data();
  std::size_t room = allocated.size();
  ASSERT_NE(std::align(SGEMM_WORKSPACE_ALIGNMENT, size, memory, room), nullptr);
  Mirrored<float> x(200, 1.0F);
  struct Arguments {
    sgemm_order_t order = SGEMM_ORDER_ROW_MAJOR;
    sgemm_side_t side = SGEMM_SIDE_A;
    sgemm_op_t op = SGEMM_OP_N;
    std::int64_t lines = 10, k = 20, ld = 20;
    const float* x = nullptr;
    void* memory = nullptr;
    std::size_t bytes = 0;
  };
  const auto pack = [&](const auto& spoil) {
    Arguments arguments;
    arguments.x = x.device();
    arguments.memory = memory;
    arguments.bytes = size;
    spoil(arguments);
    sgemm_packed_t packed = nullptr;
    const sgemm_status_t status =
        sgemm_pack(handle_, arguments.order, arguments.side, arguments.op, arguments.lines, arguments.k, arguments.x,
                   arguments.ld, arguments.memory, arguments.bytes, &packed);
    EXPECT_EQ(packed != nullptr, status == SGEMM_STATUS_SUCCESS);
    if (packed != nullptr) {
      sgemm_packed_destroy(packed);
    }
    return status;
  };
  EXPECT_EQ(pack([](Arguments&) {}), SGEMM_STATUS_SUCCESS);
  EXPECT_EQ(pack([](Arguments& it) { it.order = static_cast<sgemm_order_t>(1); }), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(pack([](Arguments& it) { it.side = static_cast<sgemm_side_t>(3); }), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(pack([](Arguments& it) { it.op = static_cast<sgemm_op_t>(3); }), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(pack([](Arguments& it) { it.lines = 0; }), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(pack([](Arguments& it) { it.k = 0; }), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(pack([](Arguments& it) { it.ld = 19; }), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(pack([](Arguments& it) { it.x = nullptr; }), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(pack([](Arguments& it) { it.memory = nullptr; }), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(pack([](Arguments& it) { it.memory = static_cast<char*>(it.memory) + 16; }), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(pack([](Arguments& it) { --it.bytes; }), SGEMM_STATUS_INVALID_VALUE);
  sgemm_set_accuracy(handle_, SGEMM_ACCURACY_FP32);
  EXPECT_EQ(pack([](Arguments&) {}), SGEMM_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(sgemm_packed_destroy(nullptr), SGEMM_STATUS_INVALID_VALUE);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(PackedInterfaceTest, WhatDoesNotFitIsRefused) {
  GemmOperands operands({13, 7, 29});
  const Expected expected(operands);
  const PackedOperand a(handle_, operands, SGEMM_SIDE_A);
  const PackedOperand b(handle_, operands, SGEMM_SIDE_B);
  const auto expect_refused = [&](sgemm_accuracy_t accuracy, const auto& spoil) {
    sgemm_product_t product = product_of(operands, &a, &b);
    spoil(product);
    sgemm_set_accuracy(handle_, accuracy);
    EXPECT_EQ(sgemm_run(handle_, &product), SGEMM_STATUS_INVALID_VALUE);
  };
  constexpr sgemm_accuracy_t OWN = SGEMM_ACCURACY_COMPONENTWISE;
  expect_refused(SGEMM_ACCURACY_NORMWISE, [](auto&) {});
  expect_refused(SGEMM_ACCURACY_FP32, [](auto&) {});
  expect_refused(OWN, [](auto& product) { product.m = 12; });
  expect_refused(OWN, [](auto& product) { product.k = 28; });
  expect_refused(OWN, [](auto& product) { std::swap(product.a, product.b); });
  expect_refused(OWN, [](auto& product) { product.batch_count = 2; });
  expect_refused(OWN, [&](auto& product) { product.addresses_of_d = operands.c.addresses(); });
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  expected.check_unchanged(operands);
}

}  // namespace
}  // namespace sgemm::test
