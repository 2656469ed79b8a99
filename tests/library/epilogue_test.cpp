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
  std::vector<Algorithm> all = accuracy == SGEMM_ACCURACY_FP32            ? every_layout_algorithms(batch, FEW)
                               : accuracy == SGEMM_ACCURACY_COMPONENTWISE ? bf16x6_algorithms(batch, FEW)
                               : accuracy == SGEMM_ACCURACY_NORMWISE      ? fp16x3_algorithms(batch, FEW)
                                                                          : int8x6_algorithms(batch, FEW);
  all.erase(std::remove_if(all.begin(), all.end(), [](const Algorithm& one) { return !one.launch_with_epilogue; }),
            all.end());
  return all;
}

using Change = std::function<void(GemmOperands&)>;

void expect_right_in_every_algorithm(
    const GemmCase& product, const EpilogueKind& kind, const Change& change = [](auto&) {}) {
  EpilogueOperands given(product, kind);
  change(given.gemm);
  const ExpectedEpilogue expected(given, 150);
  const std::vector<Algorithm> algorithms = algorithms_with_epilogues(product.accuracy, batch_of(given.gemm));
  EXPECT_GE(algorithms.size(), product.accuracy == SGEMM_ACCURACY_FP32      ? 6
                               : product.accuracy == SGEMM_ACCURACY_ROWWISE ? 2
                                                                            : 4);
  for (const Algorithm& algorithm : algorithms) {
    SCOPED_TRACE(algorithm.kernel + " " + algorithm.configuration);
    EpilogueOperands operands(product, kind);
    change(operands.gemm);
    operands.gemm.upload();
    const std::size_t sums_bytes = algorithm.sums_bytes(row_major_epilogue(operands));
    if (kind.sums_of != SGEMM_SUMS_NONE) {
      const bool of_d = kind.sums_of == SGEMM_SUMS_OF_D_ROWS || kind.sums_of == SGEMM_SUMS_OF_D_COLUMNS;
      const bool splits_in_one_kernel = algorithm.kernel == "11_bf16x6" || algorithm.kernel == "12_fp16x3";
      EXPECT_EQ(sums_bytes > 0, splits_in_one_kernel && !of_d);
      if (sums_bytes == 0) {
        continue;  // a pass adds up
      }
    }
    Mirrored<float> workspace((algorithm.workspace_bytes + sums_bytes) / sizeof(float) + 1, NAN_FLOAT);
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

TEST_P(EpilogueTest, SizesOnBothSidesOfTiles) {
  bool along_k = true;
  for (const EpilogueKind& kind : EPILOGUES) {
    GemmCase product = with(131, 259, 67, along_k);
    product.alpha = -1.5F;
    product.beta = -0.5F;
    expect_right_in_every_algorithm(product, kind);
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

/// Elements that tensor cores can not compute get their epilogue once, in tiles with few of them and with many. Chapter
/// 09, which has none of these, has one tile.
TEST_P(EpilogueTest, InfNanAndScalesThatAreFarApart) {
  const bool of_tensor_cores = std::get<0>(GetParam()) != SGEMM_ACCURACY_FP32;
  for (const EpilogueKind& kind : EPILOGUES) {
    GemmCase product = of_tensor_cores ? with(140, 150, 70, true) : with(50, 40, 70, true);
    product.beta = 0.5F;
    expect_right_in_every_algorithm(product, kind, [](GemmOperands& operands) {
      operands.op_a(0, 3, 7) = INF;
      operands.op_a(0, 11, 60) = NAN_FLOAT;
      operands.op_b(0, 20, 9) = -INF;
      for (std::int64_t k = 0; k < operands.of.k; ++k) {
        for (std::int64_t row = 30; row < std::min<std::int64_t>(operands.of.m, 128); row += 2) {
          operands.op_a(0, row, k) *= operands.of.accuracy == SGEMM_ACCURACY_ROWWISE ? 0x1p-127F : 0x1p-60F;
        }
        operands.op_b(0, k, operands.of.n - 19) *= 0x1p-70F;
      }
    });
  }
}

std::string name_of(const testing::TestParamInfo<EpilogueTest::ParamType>& info) {
  const auto& [accuracy, order] = info.param;
  return std::string(accuracy == SGEMM_ACCURACY_FP32            ? "fp32"
                     : accuracy == SGEMM_ACCURACY_COMPONENTWISE ? "componentwise"
                     : accuracy == SGEMM_ACCURACY_NORMWISE      ? "normwise"
                                                                : "rowwise") +
         (order == SGEMM_ORDER_ROW_MAJOR ? "_rows" : "_columns");
}

INSTANTIATE_TEST_SUITE_P(Lengthy, EpilogueTest,
                         testing::Combine(testing::ValuesIn(ACCURACIES), testing::ValuesIn(ORDERS)), name_of);

}  // namespace
}  // namespace sgemm::test
