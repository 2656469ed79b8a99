#pragma once

// Calls of the reproducible class, whose elements have to be those of the reference bit for bit, for a GPU and the
// executor.

#include "gemm_case.hpp"
#include "reproducible/reference.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sgemm::test {

/// op(A), op(B) and C of one product without gaps, and what the reference makes of C.
inline std::vector<float> reference_of(GemmOperands& operands, std::int64_t item) {
  const GemmCase& of = operands.of;
  std::vector<float> a;
  std::vector<float> b;
  std::vector<float> c;
  for (std::int64_t row = 0; row < of.m; ++row) {
    for (std::int64_t k = 0; k < of.k; ++k) {
      a.push_back(operands.op_a(item, row, k));
    }
    for (std::int64_t column = 0; column < of.n; ++column) {
      c.push_back(operands.c.at(item, row, column));
    }
  }
  for (std::int64_t k = 0; k < of.k; ++k) {
    for (std::int64_t column = 0; column < of.n; ++column) {
      b.push_back(operands.op_b(item, k, column));
    }
  }
  Problem p;
  p.m = of.m;
  p.n = p.ldb = p.ldc = of.n;
  p.k = p.lda = of.k;
  p.alpha = of.alpha;
  p.beta = of.beta;
  p.a = a.data();
  p.b = b.data();
  p.c = c.data();
  reproducible::reference(p);
  return c;
}

/// All results of a call through the C interface.
inline void expect_bits_of_reference(
    sgemm_handle_t handle, GemmCase product, const std::function<void(GemmOperands&)>& change = [](auto&) {}) {
  product.accuracy = SGEMM_ACCURACY_REPRODUCIBLE;
  GemmOperands operands(product);
  change(operands);
  operands.upload();
  std::vector<std::vector<float>> expected;
  for (std::int64_t item = 0; item < product.batch; ++item) {
    expected.push_back(reference_of(operands, item));
  }
  std::vector<float> all = operands.c.memory().host();  // and what lies between the elements
  for (std::int64_t item = 0; item < product.batch; ++item) {
    for (std::int64_t row = 0; row < product.m; ++row) {
      for (std::int64_t column = 0; column < product.n; ++column) {
        all[operands.c.index(item, row, column)] =
            expected[static_cast<std::size_t>(item)][static_cast<std::size_t>(row * product.n + column)];
      }
    }
  }
  ASSERT_EQ(operands.call(handle), SGEMM_STATUS_SUCCESS) << product.describe();
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << product.describe();
  const std::vector<float>& got = operands.c.memory().download();
  int wrong = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(got[i]) != std::bit_cast<std::uint32_t>(all[i]) && ++wrong <= 3) {
      ADD_FAILURE() << product.describe() << ": element " << i << " is " << got[i] << ", expected " << all[i];
    }
  }
  EXPECT_EQ(wrong, 0) << product.describe();
}

}  // namespace sgemm::test
