// The reproducible class through the C interface, on the executor.

#include "gemm_case.hpp"
#include "reproducible_case.hpp"

#include <cfloat>
#include <tuple>

namespace sgemm::test {
namespace {

class ReproducibleTest : public testing::TestWithParam<std::tuple<sgemm_order_t, sgemm_op_t, sgemm_op_t>> {
 protected:
  GemmCase with(std::int64_t m, std::int64_t n, std::int64_t k) const {
    GemmCase product{m, n, k};
    std::tie(product.order, product.transa, product.transb) = GetParam();
    return product;
  }
};

TEST_P(ReproducibleTest, FewRowsOrColumns) {
  const Handle handle;
  for (const auto& [m, n, k] : {std::tuple{1, 70, 300}, {70, 1, 64}, {9, 40, 132}, {33, 17, 1000}, {5, 3, 1}}) {
    GemmCase product = with(m, n, k);
    expect_bits_of_reference(handle, product);
    product.alpha = -1.7F;
    product.beta = 0.3F;
    product.padding = k % 4 == 0 ? 4 : 3;
    product.offset = k % 4 == 0 ? 0 : 1;
    expect_bits_of_reference(handle, product);
  }
}

TEST_P(ReproducibleTest, LongSums) {
  const Handle handle;
  expect_bits_of_reference(handle, with(2, 37, 1100));  // 16 rows by warps of 128 k, read twice on the executor
  expect_bits_of_reference(handle, with(40, 3, 4100));
}

TEST_P(ReproducibleTest, ColumnsInSeveralGroups) {
  const Handle handle;
  GemmCase product = with(135, 139, 70);
  product.beta = 1.0F;
  expect_bits_of_reference(handle, product);
}

TEST_P(ReproducibleTest, ScalarsOnTheDeviceAndNothingToMultiply) {
  const Handle handle;
  for (const std::int64_t k : {0, 50}) {
    for (const auto mode : {SGEMM_POINTER_MODE_HOST, SGEMM_POINTER_MODE_DEVICE}) {
      for (const auto& [alpha, beta] :
           {std::tuple{-2.0F, 0.75F}, {1.0F, 0.0F}, {0.0F, 2.0F}, {-0.0F, 0.0F}, {INF, -0.0F}}) {
        GemmCase product = with(20, 30, k);
        product.pointer_mode = mode;
        product.alpha = alpha;
        product.beta = beta;
        expect_bits_of_reference(handle, product);
      }
    }
  }
}

TEST_P(ReproducibleTest, NumbersOfEveryKind) {
  const Handle handle;
  GemmCase product = with(19, 35, 150);
  product.beta = 0.5F;
  expect_bits_of_reference(handle, product, [](GemmOperands& operands) {
    operands.op_a(0, 3, 7) = INF;
    operands.op_a(0, 11, 100) = NAN_FLOAT;
    operands.op_a(0, 5, 0) = FLT_MAX;
    operands.op_b(0, 20, 9) = -INF;
    operands.op_b(0, 149, 10) = -FLT_MAX;
    operands.c.at(0, 2, 2) = -0.0F;
    operands.c.at(0, 2, 3) = INF;
    for (std::int64_t k = 0; k < operands.of.k; ++k) {
      operands.op_a(0, 15, k) *= 0x1p-60F;
      operands.op_a(0, 16, k) = 0.0F;
      operands.op_a(0, 17, k) = 0x1p-140F * static_cast<float>(k);  // denormal numbers alone
      operands.op_a(0, 18, k) = k == 77 ? 0x7F.FFp-8F : 0x1p-30F;   // the largest rounds up
      operands.op_b(0, k, 30) *= 0x1p100F;
      operands.op_b(0, k, 31) = -0.0F;
      operands.op_b(0, k, 33) *= k % 2 == 0 ? 0x1p-126F : 0x1p-149F;
    }
  });
}

TEST_P(ReproducibleTest, Batches) {
  const Handle handle;
  for (const bool by_address : {false, true}) {
    GemmCase product = with(3, 37, 90);
    product.batch = 5;
    product.by_address = by_address;
    product.beta = -1.0F;
    expect_bits_of_reference(handle, product);
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, ReproducibleTest,
                         testing::Combine(testing::ValuesIn(ORDERS), testing::Values(SGEMM_OP_N, SGEMM_OP_T),
                                          testing::Values(SGEMM_OP_N, SGEMM_OP_T)));

}  // namespace
}  // namespace sgemm::test
