// Epilogues in the kernels of chapters 09, 11, 12 and 13, in every configuration, on sizes for which the library would
// call cuBLAS.

#include "algorithms.hpp"
#include "epilogue_case.hpp"
#include "gemm_batch.hpp"

#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

namespace sgemm::test {
namespace {

/// All that have epilogues. So few multiprocessors divide tiles along k.
std::vector<Algorithm> algorithms_with_epilogues(sgemm_accuracy_t accuracy, const GemmBatch& batch) {
  constexpr int FEW = 3;
  return accuracy == SGEMM_ACCURACY_COMPONENTWISE ? joined(bf16x6_algorithms(batch, FEW), lines_algorithms(batch, FEW))
                                                  : fp16x3_algorithms(batch, FEW);
}

void expect_right_in_every_algorithm(const GemmCase& product, const EpilogueKind& kind,
                                     const Change& change = change_nothing) {
  EpilogueOperands given(product, kind);
  change(given.gemm);
  const ExpectedEpilogue expected(given, 150);
  const std::vector<Algorithm> algorithms = algorithms_with_epilogues(product.accuracy, batch_of(given.gemm));
  EXPECT_EQ(algorithms.size(), product.accuracy == SGEMM_ACCURACY_COMPONENTWISE ? 8 : 4);
  for (const Algorithm& algorithm : algorithms) {
    SCOPED_TRACE(algorithm.kernel + " " + algorithm.configuration);
    EpilogueOperands operands(product, kind);
    change(operands.gemm);
    operands.gemm.upload();
    launch_with_epilogue(algorithm, operands, workspace_of(algorithm).device());
    expected.check(operands);
  }
}

class EpilogueTest : public testing::TestWithParam<std::tuple<sgemm_accuracy_t, sgemm_order_t>> {
 protected:
  /// Of the two layouts for which all chapters have epilogues: B lies along k in the row-major form, or across k.
  GemmCase with(std::int64_t m, std::int64_t n, std::int64_t k, bool k_major) const {
    GemmCase product{m, n, k};
    std::tie(product.accuracy, product.order) = GetParam();
    (product.order == SGEMM_ORDER_ROW_MAJOR ? product.transb : product.transa) = k_major ? SGEMM_OP_T : SGEMM_OP_N;
    return product;
  }
};

/// Numbers are small enough for residual tiles of 12_fp16x3_lines, or for its six products.
TEST_P(EpilogueTest, SizesOnBothSidesOfTiles) {
  bool k_major = true;
  for (const EpilogueKind& kind : EPILOGUES) {
    const GemmCase product = with(131, 259, 67, k_major).scaled(-1.5F, -0.5F);
    expect_right_in_every_algorithm(product, kind, [small = k_major ? 0x1p-30F : 0x1p-60F](GemmOperands& operands) {
      operands.op_a(0, 1, 2) *= small;
      operands.op_b(0, 3, 200) *= small;
    });
    k_major = !k_major;
  }
}

TEST_P(EpilogueTest, AlignedLinesAndLinesWithPadding) {
  bool k_major = false;
  for (const EpilogueKind& kind : EPILOGUES) {
    expect_right_in_every_algorithm(with(136, 72, 128, k_major), kind);
    expect_right_in_every_algorithm(with(33, 68, 36, k_major).scaled(1.0F, 1.0F).padded(3, 1), kind);
    k_major = !k_major;
  }
}

/// Each kind with two of the four pairs.
TEST_P(EpilogueTest, ScalarsOnTheDevice) {
  constexpr std::tuple<float, float> PAIRS[][2] = {{{-2.0F, 0.75F}, {0.0F, 0.0F}}, {{1.0F, 0.0F}, {0.0F, 2.0F}}};
  std::size_t number = 0;
  for (const EpilogueKind& kind : EPILOGUES) {
    for (const auto& [alpha, beta] : PAIRS[number++ % 2]) {
      const GemmCase product = with(33, 35, 40, alpha > 0).with(SGEMM_POINTER_MODE_DEVICE);
      expect_right_in_every_algorithm(product.scaled(alpha, beta), kind);
    }
  }
}

/// Elements that tensor cores can not compute get their epilogue once, in tiles with few of them and with many.
TEST_P(EpilogueTest, InfNanAndScalesThatAreFarApart) {
  for (const EpilogueKind& kind : EPILOGUES) {
    expect_right_in_every_algorithm(with(140, 150, 70, true).scaled(1.0F, 0.5F), kind, [](GemmOperands& operands) {
      operands.op_a(0, 3, 7) = INF;
      operands.op_a(0, 11, 60) = NAN_FLOAT;
      operands.op_b(0, 20, 9) = -INF;
      for (std::int64_t row = 30; row < 128; row += 2) {
        operands.scale_row(0, row, 0x1p-60F);
      }
      operands.scale_column(0, operands.of.n - 19, 0x1p-70F);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Lengthy, EpilogueTest, testing::ValuesIn(combinations(OF_SPLIT_OPERANDS, ORDERS)));

}  // namespace
}  // namespace sgemm::test
