// Packed operands on a GPU: the same bits as without them, in all layouts, on both sides.

#include "gemm_case.hpp"
#include "gpu/streams_and_memory.hpp"

#include <cuda_runtime_api.h>

#include <string>
#include <tuple>
#include <vector>

namespace sgemm::test {
namespace {

class PackedProductTest : public testing::TestWithParam<std::tuple<sgemm_accuracy_t, sgemm_order_t, sgemm_op_t>> {
 protected:
  void SetUp() override {
    if (!has_wgmma()) {
      GTEST_SKIP() << "packed operands need wgmma";
    }
  }
};

/// A call that takes the same kernel has the same bits. Another kernel's are right as well.
TEST_P(PackedProductTest, HasTheSameBits) {
  const Handle handle;
  const auto& [accuracy, order, transa] = GetParam();
  int compared = 0;
  for (const sgemm_op_t transb : N_AND_T) {
    for (const auto& [m, n, k] : {std::tuple{2048, 1152, 1280}, {1111, 999, 1301}, {2051, 517, 4100}}) {
      const GemmCase contiguous{m, n, k, order, transa, transb, -1.5F, m == 2048 ? 0.0F : 0.5F};
      const GemmCase product = (m == 2051 ? contiguous.padded(5, 1) : contiguous).with(accuracy);
      GemmOperands operands(product);
      const Expected expected(operands, 16);
      const std::vector<float> before = operands.c.memory().host();
      set(handle, product);
      const sgemm_plan_t plain = planned(handle, operands.product());
      expected.check_call(handle, operands, operands.product());
      const std::vector<float> bits = operands.c.memory().host();
      const PackedOperand packed_a(handle, operands, SGEMM_SIDE_A);
      const PackedOperand packed_b(handle, operands, SGEMM_SIDE_B);
      for (const auto& [packs_a, packs_b] : {std::tuple{true, false}, {false, true}, {true, true}}) {
        const sgemm_product_t packed =
            product_of(operands, packs_a ? &packed_a : nullptr, packs_b ? &packed_b : nullptr);
        const sgemm_plan_t plan = planned(handle, packed);
        SCOPED_TRACE(product.describe() + " by " + plan.kernel + " " + plan.configuration + ", without by " +
                     plain.kernel + " " + plain.configuration);
        const bool reads_packed = std::string(plan.configuration).find("packed") != std::string::npos;
        // Lines come from A and B themselves, where that is faster than what packed terms save.
        EXPECT_TRUE(reads_packed || std::string(plan.kernel) == "12_fp16x3_lines");
        operands.c.memory().host() = before;
        operands.c.memory().upload();
        expected.check_call(handle, operands, packed);
        if (reads_packed && std::string(plan.kernel) == plain.kernel) {
          ++compared;
          EXPECT_EQ(std::string(plan.configuration).rfind(std::string(plain.configuration) + " packed", 0), 0);
          EXPECT_TRUE(same_bits(operands.c.memory().host(), bits));
        }
      }
    }
  }
  // In how many of 18 the kernel stays the same depends on predictions. COMPONENTWISE may take lines in all of them.
  EXPECT_TRUE(compared > 0 || accuracy == SGEMM_ACCURACY_COMPONENTWISE);
}

INSTANTIATE_TEST_SUITE_P(Library, PackedProductTest,
                         testing::ValuesIn(combinations(OF_SPLIT_OPERANDS, ORDERS, N_AND_T)));

/// Packing and a product in one graph, and a product in a graph of its own.
TEST(PackedTest, GraphsHoldPackedCalls) {
  if (!has_wgmma()) {
    GTEST_SKIP() << "packed operands need wgmma";
  }
  const OwnStream stream;
  const Handle handle;
  const GemmCase product{1024, 1152, 1280, SGEMM_ORDER_COLUMN_MAJOR, SGEMM_OP_T, SGEMM_OP_N};
  GemmOperands operands(product.with(SGEMM_ACCURACY_NORMWISE));
  const Expected expected(operands, 16);
  ASSERT_EQ(sgemm_set_stream(handle, stream), SGEMM_STATUS_SUCCESS);
  const PackedOperand a(handle, operands, SGEMM_SIDE_A);
  const CapturedGraph graph(
      stream, [&] { EXPECT_EQ(operands.call(handle, product_of(operands, &a, nullptr)), SGEMM_STATUS_SUCCESS); });
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(graph.replay(), cudaSuccess);
  }
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  expected.check(operands);
}

}  // namespace
}  // namespace sgemm::test
