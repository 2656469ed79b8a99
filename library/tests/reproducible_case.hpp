#pragma once

// Calls of the reproducible class, whose elements have to be those of the reference bit for bit, for a GPU and the
// executor.

#include "gemm_case.hpp"
#include "reproducible/product.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cfloat>
#include <cstddef>
#include <cstdint>
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

/// Of at least 12 x 35 elements and 150 k: what has no digits, what has none but zeros, and what is far from the rest.
inline void put_numbers_of_every_kind(GemmOperands& operands) {
  const std::int64_t last = operands.of.m - 1;
  operands.op_a(0, 3, 7) = INF;
  operands.op_a(0, 11, 100) = NAN_FLOAT;
  operands.op_a(0, 5, 0) = FLT_MAX;
  operands.op_b(0, 20, 9) = -INF;
  operands.op_b(0, 149, 10) = -FLT_MAX;
  operands.c.at(0, 2, 2) = -0.0F;
  operands.c.at(0, 2, 3) = INF;
  operands.scale_row(0, last, 0x1p-60F);
  operands.scale_column(0, 30, 0x1p100F);
  for (std::int64_t k = 0; k < operands.of.k; ++k) {
    operands.op_a(0, last - 1, k) = 0.0F;
    operands.op_a(0, last - 2, k) = 0x1p-140F * static_cast<float>(k);   // denormal numbers alone
    operands.op_a(0, last - 3, k) = k == 77 ? 0x1.FFFFFEp7F : 0x1p-30F;  // the largest one rounds up
    operands.op_b(0, k, 31) = -0.0F;
    operands.op_b(0, k, 33) *= k % 2 == 0 ? 0x1p-126F : 0x1p-149F;
  }
}

/// All elements of C, and what lies between them, after `run(operands)`.
inline void expect_bits_of_reference(GemmCase product, const Change& change, const Change& run) {
  product.accuracy = SGEMM_ACCURACY_REPRODUCIBLE;
  GemmOperands operands(product);
  change(operands);
  operands.upload();
  std::vector<std::vector<float>> expected;
  for (std::int64_t item = 0; item < product.batch; ++item) {
    expected.push_back(reference_of(operands, item));
  }
  std::vector<float> all = operands.c.memory().host();
  operands.c.for_each([&](std::int64_t item, std::int64_t row, std::int64_t column) {
    all[operands.c.index(item, row, column)] =
        expected[static_cast<std::size_t>(item)][static_cast<std::size_t>(row * product.n + column)];
  });
  run(operands);
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

/// The same through the C interface.
inline void expect_bits_of_reference(sgemm_handle_t handle, const GemmCase& product,
                                     const Change& change = change_nothing) {
  expect_bits_of_reference(product, change, [&](GemmOperands& operands) {
    EXPECT_EQ(operands.call(handle), SGEMM_STATUS_SUCCESS) << product.describe();
  });
}

}  // namespace sgemm::test
