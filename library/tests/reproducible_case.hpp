#pragma once

// Calls of the reproducible class, whose elements have to be those of the reference bit for bit, for a GPU and the
// executor.

#include "gemm_case.hpp"
#include "reproducible/definition.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sgemm::test {

/// The memory of C as the reference makes it, which takes C by rows and without gaps.
inline std::vector<float> reference_of(GemmOperands& operands) {
  const GemmCase& of = operands.of;
  const bool by_columns = of.order == SGEMM_ORDER_COLUMN_MAJOR;
  std::vector<float> all = operands.c.memory().host();
  for (std::int64_t item = 0; item < of.batch; ++item) {
    std::vector<float> c(static_cast<std::size_t>(of.m * of.n));
    const auto for_each = [&](const auto& visit) {
      for (std::size_t i = 0; i < c.size(); ++i) {
        const auto place = static_cast<std::int64_t>(i);
        visit(c[i], all[operands.c.index(item, place / of.n, place % of.n)]);
      }
    };
    for_each([](float& without_gaps, float in_memory) { without_gaps = in_memory; });
    reproducible::reference({{of.m, of.n, of.k, of.alpha, of.beta, (of.transa != SGEMM_OP_N) != by_columns,
                              (of.transb != SGEMM_OP_N) != by_columns},
                             &operands.a.at(item, 0, 0),
                             operands.a.ld(),
                             &operands.b.at(item, 0, 0),
                             operands.b.ld(),
                             c.data(),
                             of.n});
    for_each([](float without_gaps, float& in_memory) { in_memory = without_gaps; });
  }
  return all;
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
  GemmOperands operands(product, change);
  const std::vector<float> all = reference_of(operands);
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
