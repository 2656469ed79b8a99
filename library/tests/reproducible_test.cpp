// The reproducible class on the executor: each of its algorithms, and what the C interface makes of them.

#include "algorithms.hpp"
#include "choice.hpp"
#include "gemm_batch.hpp"
#include "gemm_case.hpp"
#include "reproducible_case.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#ifdef SGEMM_CODE_FOR_OLDER_GPUS
namespace sgemm {
// The kernel for few rows as compiled for older GPUs, which newer ones compile for themselves.
std::vector<Algorithm> thin_algorithms_for_75(const GemmBatch&, int multiprocessors);
std::vector<Algorithm> thin_algorithms_for_80(const GemmBatch&, int multiprocessors);
}  // namespace sgemm
#endif

namespace sgemm::test {
namespace {

/// By the kernel for few rows, and where there is something to multiply by chapter 15's, on so many multiprocessors.
/// The former also on one, where no sum is divided. Workspaces hold anything before.
void expect_bits_of_reference(const GemmCase& product, const Change& change = change_nothing,
                              int multiprocessors = 132) {
  GemmOperands measure(product);
  std::vector<Algorithm> algorithms = thin_reproducible_algorithms(batch_of(measure), multiprocessors);
  EXPECT_EQ(algorithms.size(), 1);
  algorithms.push_back(thin_reproducible_algorithms(batch_of(measure), 1).front());
#ifdef SGEMM_CODE_FOR_OLDER_GPUS
  algorithms.push_back(thin_algorithms_for_75(batch_of(measure), multiprocessors).front());
  algorithms.push_back(thin_algorithms_for_80(batch_of(measure), multiprocessors).front());
#endif
  const std::size_t of_few_rows = algorithms.size();
  if (product.k > 0 && (product.alpha != 0.0F || product.pointer_mode == SGEMM_POINTER_MODE_DEVICE)) {
    algorithms = joined(algorithms, reproducible_algorithms(batch_of(measure), multiprocessors));
    EXPECT_EQ(algorithms.size() - of_few_rows, product.by_address || !has_wgmma() ? 0 : 2);
  }
  for (const Algorithm& algorithm : algorithms) {
    SCOPED_TRACE(algorithm.kernel + " " + algorithm.configuration);
    expect_bits_of_reference(product, change, [&](GemmOperands& operands) { launch(algorithm, batch_of(operands)); });
  }
}

class ReproducibleTest : public testing::TestWithParam<std::tuple<sgemm_order_t, sgemm_op_t, sgemm_op_t>> {
 protected:
  GemmCase with(std::int64_t m, std::int64_t n, std::int64_t k) const {
    GemmCase product{m, n, k};
    std::tie(product.order, product.transa, product.transb) = GetParam();
    return product;
  }
};

TEST_P(ReproducibleTest, FewRowsOrColumns) {
  for (const auto& [m, n, k] : {std::tuple{1, 70, 300}, {70, 1, 64}, {9, 40, 132}, {33, 17, 1000}, {5, 3, 1}}) {
    const GemmCase product = with(m, n, k);
    expect_bits_of_reference(product);
    expect_bits_of_reference((k % 4 == 0 ? product.padded(4) : product.padded(3, 1)).scaled(-1.7F, 0.3F));
  }
}

TEST_P(ReproducibleTest, LongSums) {
  expect_bits_of_reference(with(2, 37, 1100));  // in nine parts
  expect_bits_of_reference(with(40, 3, 2100));
}

/// Up to k = 32768 a cluster keeps whole lines in registers, with more blocks for a line, or fewer lines, where k is
/// larger. Longer ones are read in pieces, and all but the last piece twice.
TEST_P(ReproducibleTest, LinesOfEveryLength) {
  for (const auto& [m, n, k] : {std::tuple{9, 18, 2000}, {20, 12, 8300}, {5, 7, 4101}, {3, 4, 32900}}) {
    expect_bits_of_reference(with(m, n, k));
  }
}

/// Several of which share a warp that looks for their largest numbers.
TEST_P(ReproducibleTest, ManyShortLines) {
  for (const auto& [m, n, k] : {std::tuple{4101, 2, 44}, {3, 8222, 9}}) {
    expect_bits_of_reference(with(m, n, k).scaled(1.0F, 0.5F));
  }
}

TEST_P(ReproducibleTest, ColumnsInSeveralGroups) { expect_bits_of_reference(with(135, 139, 260).scaled(1.0F, 1.0F)); }

TEST_P(ReproducibleTest, ScalarsOnTheDeviceAndNothingToMultiply) {
  for (const auto& [k, mode] : combinations(std::array{0, 50}, POINTER_MODES)) {
    for (const auto& [alpha, beta] :
         {std::tuple{-2.0F, 0.75F}, {1.0F, 0.0F}, {0.0F, 2.0F}, {-0.0F, 0.0F}, {INF, -0.0F}}) {
      expect_bits_of_reference(with(20, 30, k).with(mode).scaled(alpha, beta));
    }
  }
}

TEST_P(ReproducibleTest, NumbersOfEveryKind) {
  for (const int k : {150, 300}) {  // the longer one in parts
    expect_bits_of_reference(with(19, 35, k).scaled(1.0F, 0.5F), put_numbers_of_every_kind);
  }
}

TEST_P(ReproducibleTest, Batches) {
  for (const bool by_address : {false, true}) {
    expect_bits_of_reference(with(3, 37, 90).batched(5, by_address).scaled(1.0F, -1.0F));
  }
}

/// All digits are 127: three products of two for each k. Of four parts each would have too many.
TEST(LengthyReproducibleTest, SumsThatInt32CouldNotHold) {
  const auto fill = [](GemmOperands& operands) {
    for (std::int64_t k = 0; k < operands.of.k; ++k) {
      operands.op_a(0, 0, k) = operands.op_a(0, 1, k) = operands.op_b(0, k, 0) = 0x1.FDFDFCp0F;
    }
  };
  expect_bits_of_reference({2, 1, 4 * 44500, SGEMM_ORDER_ROW_MAJOR, SGEMM_OP_T, SGEMM_OP_N}, fill);
}

TEST(ReproducibleInterfaceTest, NobodyElseGetsACall) {
  const Handle handle;
  sgemm_set_accuracy(handle, SGEMM_ACCURACY_REPRODUCIBLE);
  for (const auto& [m, n] : {std::pair{1, 1}, {1, 4096}, {4096, 4096}}) {
    EXPECT_STREQ(planned(handle, product_of(m, n, 4096, SGEMM_OP_N, SGEMM_OP_T)).kernel, "15_reproducible");
  }
  for (const GemmCase& product : {GemmCase{3, 40, 100}, GemmCase{300, 270, 515}, GemmCase{5, 7, 0}}) {
    expect_bits_of_reference(handle, product.scaled(-1.7F, 0.3F));
  }
  alignas(SGEMM_WORKSPACE_ALIGNMENT) float small[64];
  ASSERT_EQ(sgemm_set_workspace(handle, small, sizeof small), SGEMM_STATUS_SUCCESS);
  const sgemm_plan_t plan = planned(handle, product_of(3, 40, 100, SGEMM_OP_N, SGEMM_OP_T));
  EXPECT_STREQ(plan.kernel, "none");
  EXPECT_STREQ(plan.reason, "the workspace is too small for the library's own kernels");
  GemmOperands operands(GemmCase{3, 40, 100}.with(SGEMM_ACCURACY_REPRODUCIBLE));
  EXPECT_EQ(operands.call(handle), SGEMM_STATUS_NOT_SUPPORTED);
}

/// What docs/library.md says a program may rely on.
TEST(ReproducibleInterfaceTest, EqualRowsGiveEqualRowsAndAMatrixByItsTransposeIsSymmetric) {
  GemmOperands operands({150, 150, 90, SGEMM_ORDER_ROW_MAJOR, SGEMM_OP_N, SGEMM_OP_T, -1.7F});
  put_numbers_of_every_kind(operands);
  for (std::int64_t k = 0; k < 90; ++k) {
    operands.a.at(0, 140, k) = operands.a.at(0, 9, k);
    for (std::int64_t row = 0; row < 150; ++row) {
      operands.b.at(0, row, k) = operands.a.at(0, row, k);
    }
  }
  operands.upload();
  for (const Algorithm& algorithm : joined(thin_reproducible_algorithms(batch_of(operands), 132),
                                           reproducible_algorithms(batch_of(operands), 132))) {
    launch(algorithm, batch_of(operands));
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    operands.c.memory().download();
    const auto bits = [&](std::int64_t row, std::int64_t column) {
      return std::bit_cast<std::uint32_t>(operands.c.at(0, row, column));
    };
    int different = 0;
    for (std::int64_t row = 0; row < 150; ++row) {
      different += bits(140, row) != bits(9, row) ? 1 : 0;
      for (std::int64_t column = 0; column < row; ++column) {
        different += bits(row, column) != bits(column, row) ? 1 : 0;
      }
    }
    EXPECT_EQ(different, 0) << algorithm.kernel << " " << algorithm.configuration;
  }
}

/// A framework gives the bias of a layer as an epilogue, and for one row as C with a beta of 1.
TEST(ReproducibleInterfaceTest, ABiasHasTheBitsOfACWithABetaOfOne) {
  const Handle handle;
  Mirrored<float> bias(37, 0.0F);
  for (std::size_t i = 0; i < bias.host().size(); ++i) {
    bias.host()[i] = 1.0F / static_cast<float>(i + 3);
  }
  bias.upload();
  for (const auto& [bias_of, mode] : combinations(BIASES, POINTER_MODES)) {
    const GemmCase product = GemmCase{5, 37, 90}.with(SGEMM_ACCURACY_REPRODUCIBLE).with(mode);
    GemmOperands with_c(product.scaled(0.7F, 1.0F));
    GemmOperands with_bias(product.scaled(0.7F, 0.0F));
    with_c.c.for_each(
        [&, of_rows = bias_of == SGEMM_BIAS_OF_ROWS](std::int64_t, std::int64_t row, std::int64_t column) {
          with_c.c.at(0, row, column) = bias.host()[static_cast<std::size_t>(of_rows ? row : column)];
        });
    with_c.upload();
    ASSERT_EQ(with_c.call(handle), SGEMM_STATUS_SUCCESS);
    const sgemm_epilogue_t epilogue{SGEMM_ACTIVATION_NONE, bias_of, bias.device(), nullptr, 0};
    sgemm_product_t biased = with_bias.product();
    biased.epilogue = &epilogue;
    ASSERT_EQ(with_bias.call(handle, biased), SGEMM_STATUS_SUCCESS);
    EXPECT_EQ(with_bias.c.memory().download(), with_c.c.memory().download()) << bias_of << " " << mode;
  }
}

/// With another beta the product is rounded before the bias is added, wherever beta is.
TEST(ReproducibleInterfaceTest, ABiasBesideACHasTheSameBitsInBothPointerModes) {
  const Handle handle;
  Mirrored<float> bias(37, 0.1F);
  const sgemm_epilogue_t epilogue{SGEMM_ACTIVATION_NONE, SGEMM_BIAS_OF_COLUMNS, bias.device(), nullptr, 0};
  std::vector<std::vector<float>> results;
  for (const sgemm_pointer_mode_t mode : POINTER_MODES) {
    GemmOperands operands(GemmCase{5, 37, 90}.with(SGEMM_ACCURACY_REPRODUCIBLE).with(mode).scaled(0.7F, 0.3F));
    sgemm_product_t product = operands.product();
    product.epilogue = &epilogue;
    ASSERT_EQ(operands.call(handle, product), SGEMM_STATUS_SUCCESS);
    results.push_back(operands.c.memory().download());
  }
  EXPECT_EQ(results[0], results[1]);
}

/// Where it was measured to be the faster one on an H200, and nowhere else.
TEST(ReproducibleInterfaceTest, FewRowsHaveAKernelOfTheirOwn) {
  constexpr std::tuple<int, int, int, bool> HAVE_FEW[] = {
      {1, 4096, 4096, true},   {32, 4096, 4096, true},    {64, 4096, 4096, true},  {128, 4096, 4096, false},
      {64, 14336, 4096, true}, {128, 14336, 4096, false}, {64, 4096, 14336, true}, {128, 4096, 14336, false}};
  for (const auto& [rows, n, k, few] : HAVE_FEW) {
    const GemmBatch product{problem_of(rows, n, k, false, true)};
    std::string without;
    const Choice choice =
        choose_fastest(algorithms_for(product, SGEMM_ACCURACY_REPRODUCIBLE, 132, 132, without), SIZE_MAX, without);
    ASSERT_TRUE(choice.algorithm);
    EXPECT_EQ(choice.algorithm->configuration.starts_with("flat"), few)
        << rows << 'x' << n << 'x' << k << ": " << choice.algorithm->configuration;
  }
}

// Sanitizers see one layout. The kernels see operands of rows alone, so that the last of these is the fourth for them.
INSTANTIATE_TEST_SUITE_P(Layout, ReproducibleTest,
                         testing::Values(std::tuple{SGEMM_ORDER_ROW_MAJOR, SGEMM_OP_N, SGEMM_OP_T}));
INSTANTIATE_TEST_SUITE_P(LengthyLayouts, ReproducibleTest,
                         testing::Values(std::tuple{SGEMM_ORDER_ROW_MAJOR, SGEMM_OP_N, SGEMM_OP_N},
                                         std::tuple{SGEMM_ORDER_ROW_MAJOR, SGEMM_OP_T, SGEMM_OP_T},
                                         std::tuple{SGEMM_ORDER_COLUMN_MAJOR, SGEMM_OP_N, SGEMM_OP_T}));

}  // namespace
}  // namespace sgemm::test
