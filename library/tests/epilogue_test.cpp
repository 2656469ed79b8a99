// Epilogues in the kernels of chapters 09, 11, 12 and 13, in every configuration, on sizes for which the library would
// call cuBLAS.

#include "algorithms.hpp"
#include "epilogue_batch.hpp"
#include "epilogue_case.hpp"
#include "gemm_batch.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

namespace sgemm::test {
namespace {

/// All that have epilogues. So few multiprocessors divide tiles along k.
std::vector<Algorithm> algorithms_with_epilogues(sgemm_accuracy_t accuracy, const GemmBatch& batch) {
  constexpr int FEW = 3;
  if (accuracy != SGEMM_ACCURACY_COMPONENTWISE) {
    return fp16x3_algorithms(batch, FEW);
  }
  std::vector<Algorithm> all = bf16x6_algorithms(batch, FEW);
  const std::vector<Algorithm> more = lines_algorithms(batch, FEW);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

using Change = std::function<void(GemmOperands&)>;

void expect_right_in_every_algorithm(
    const GemmCase& product, const EpilogueKind& kind, const Change& change = [](auto&) {}) {
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
    Mirrored<float> workspace(algorithm.workspace_bytes / sizeof(float) + 1, NAN_FLOAT);
    launch_with_epilogue(algorithm, operands, workspace.device());
    expected.check(operands);
  }
}

class EpilogueTest : public testing::TestWithParam<std::tuple<sgemm_accuracy_t, sgemm_order_t>> {
 protected:
  /// Of the two layouts for which all chapters have epilogues: B lies along k in the row-major form, or across k.
  GemmCase with(std::int64_t m, std::int64_t n, std::int64_t k, bool along_k) const {
    GemmCase product;
    std::tie(product.accuracy, product.order) = GetParam();
    product.m = m;
    product.n = n;
    product.k = k;
    (product.order == SGEMM_ORDER_ROW_MAJOR ? product.transb : product.transa) = along_k ? SGEMM_OP_T : SGEMM_OP_N;
    return product;
  }
};

/// Numbers are small enough for residual tiles of 12_fp16x3_lines, or for its six products.
TEST_P(EpilogueTest, SizesOnBothSidesOfTiles) {
  bool along_k = true;
  for (const EpilogueKind& kind : EPILOGUES) {
    GemmCase product = with(131, 259, 67, along_k);
    product.alpha = -1.5F;
    product.beta = -0.5F;
    expect_right_in_every_algorithm(product, kind, [small = along_k ? 0x1p-30F : 0x1p-60F](GemmOperands& operands) {
      operands.op_a(0, 1, 2) *= small;
      operands.op_b(0, 3, 200) *= small;
    });
    along_k = !along_k;
  }
}

TEST_P(EpilogueTest, AlignedLinesAndLinesWithPadding) {
  bool along_k = false;
  for (const EpilogueKind& kind : EPILOGUES) {
    expect_right_in_every_algorithm(with(136, 72, 128, along_k), kind);
    GemmCase padded = with(33, 68, 36, along_k);
    padded.beta = 1.0F;
    padded.padding = 3;
    padded.offset = 1;
    expect_right_in_every_algorithm(padded, kind);
    along_k = !along_k;
  }
}

/// Each kind with two of the four pairs.
TEST_P(EpilogueTest, ScalarsOnTheDevice) {
  constexpr std::tuple<float, float> PAIRS[][2] = {{{-2.0F, 0.75F}, {0.0F, 0.0F}}, {{1.0F, 0.0F}, {0.0F, 2.0F}}};
  std::size_t number = 0;
  for (const EpilogueKind& kind : EPILOGUES) {
    for (const auto& [alpha, beta] : PAIRS[number++ % 2]) {
      GemmCase product = with(33, 35, 40, alpha > 0);
      product.pointer_mode = SGEMM_POINTER_MODE_DEVICE;
      product.alpha = alpha;
      product.beta = beta;
      expect_right_in_every_algorithm(product, kind);
    }
  }
}

/// Elements that tensor cores can not compute get their epilogue once, in tiles with few of them and with many.
TEST_P(EpilogueTest, InfNanAndScalesThatAreFarApart) {
  for (const EpilogueKind& kind : EPILOGUES) {
    GemmCase product = with(140, 150, 70, true);
    product.beta = 0.5F;
    expect_right_in_every_algorithm(product, kind, [](GemmOperands& operands) {
      operands.op_a(0, 3, 7) = INF;
      operands.op_a(0, 11, 60) = NAN_FLOAT;
      operands.op_b(0, 20, 9) = -INF;
      for (std::int64_t k = 0; k < operands.of.k; ++k) {
        for (std::int64_t row = 30; row < std::min<std::int64_t>(operands.of.m, 128); row += 2) {
          operands.op_a(0, row, k) *= 0x1p-60F;
        }
        operands.op_b(0, k, operands.of.n - 19) *= 0x1p-70F;
      }
    });
  }
}

std::string name_of(const testing::TestParamInfo<EpilogueTest::ParamType>& info) {
  const auto& [accuracy, order] = info.param;
  return std::string(accuracy == SGEMM_ACCURACY_COMPONENTWISE ? "componentwise" : "normwise") +
         (order == SGEMM_ORDER_ROW_MAJOR ? "_rows" : "_columns");
}

INSTANTIATE_TEST_SUITE_P(Lengthy, EpilogueTest,
                         testing::Combine(testing::Values(SGEMM_ACCURACY_COMPONENTWISE, SGEMM_ACCURACY_NORMWISE),
                                          testing::ValuesIn(ORDERS)),
                         name_of);

}  // namespace
}  // namespace sgemm::test
