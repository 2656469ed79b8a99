// Epilogues of libsgemm on a GPU: in the store of the chapters that are the fastest for a product, and in a pass.

#include "epilogue_case.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <vector>

namespace sgemm::test {
namespace {

class LargeEpilogueTest : public testing::TestWithParam<std::tuple<sgemm_accuracy_t, sgemm_order_t>> {
 protected:
  static GemmCase with(std::int64_t m, std::int64_t n, std::int64_t k) {
    const auto& [accuracy, order] = GetParam();
    return GemmCase{m, n, k, order}.with(accuracy);
  }
};

/// Sizes with whole tiles, with others, and with tiles that blocks share along k.
TEST_P(LargeEpilogueTest, IsRight) {
  const Handle handle;
  bool transposed = true;
  for (const EpilogueKind& kind : EPILOGUES) {
    for (const auto& [m, n, k] : {std::tuple{1024, 1152, 512}, {1027, 518, 1000}, {520, 640, 4096}}) {
      GemmCase product = with(m, n, k).scaled(-1.5F, m == 1024 ? 0.0F : 0.5F);
      (product.order == SGEMM_ORDER_ROW_MAJOR ? product.transb : product.transa) = transposed ? SGEMM_OP_T : SGEMM_OP_N;
      expect_right(handle, m == 1027 ? product.padded(5, 1) : product, kind, 6);
      transposed = !transposed;
    }
  }
}

/// Layouts for which chapter 09 has no epilogue.
TEST_P(LargeEpilogueTest, IsRightWithTransposedOperands) {
  const Handle handle;
  for (const EpilogueKind& kind : EPILOGUES) {
    GemmCase product = with(1024, 1100, 1000).scaled(1.0F, 0.5F);
    (product.order == SGEMM_ORDER_ROW_MAJOR ? product.transa : product.transb) = SGEMM_OP_T;
    expect_right(handle, product, kind, 6);
  }
}

/// Elements that are computed without tensor cores have their epilogue once, and a second call gives the same bits.
TEST_P(LargeEpilogueTest, InfNanAndScalesThatAreFarApart) {
  for (const EpilogueKind& kind : EPILOGUES) {
    const GemmCase product = with(1030, 1200, 1100).with(&GemmCase::transb, SGEMM_OP_T).scaled(1.0F, 0.5F);
    std::vector<float> first;
    for (int run = 0; run < 2; ++run) {
      const Handle handle;
      EpilogueOperands operands(product, kind);
      GemmOperands& gemm = operands.gemm;
      gemm.op_a(0, 21, 7) = INF;
      gemm.op_a(0, 1029, 1000) = NAN_FLOAT;
      gemm.op_b(0, 20, 899) = -INF;
      for (std::int64_t row = 0; row < 128; row += 3) {
        gemm.scale_row(0, row, product.accuracy == SGEMM_ACCURACY_ROWWISE ? 0x1p-127F : 0x1p-60F);
      }
      gemm.upload();
      const ExpectedEpilogue expected(operands, run == 0 ? 50 : 1);
      ASSERT_EQ(operands.call(handle), SGEMM_STATUS_SUCCESS);
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      expected.check(operands);
      const std::vector<float>& bits = operands.d().memory().host();
      if (run == 0) {
        first = bits;
      }
      EXPECT_TRUE(std::equal(bits.begin(), bits.end(), first.begin(), [](float x, float y) {
        return x == y || (std::isnan(x) && std::isnan(y));
      })) << operands.describe();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Library, LargeEpilogueTest, testing::ValuesIn(combinations(ACCURACIES, ORDERS)));

}  // namespace
}  // namespace sgemm::test
