// The kernels of chapters 09, 11, 12, 13 and 15 for operands of any layout, with every access observed: none is outside
// of the matrices and the workspace, and none races with another one.

#include "algorithms.hpp"
#include "device/device_buffer.hpp"
#include "epilogue_case.hpp"
#include "gemm_batch.hpp"
#include "gemm_case.hpp"
#include "simt/checked_arrays.hpp"

#include <cstdint>
#include <tuple>
#include <vector>

namespace sgemm::test {
namespace {

/// Operands of which tensor cores can not multiply all: rows and columns that are far apart from the others, and some
/// that chapter 13 has no scale for.
void spread(GemmOperands& operands) {
  const GemmCase& of = operands.of;
  for (std::int64_t row = 0; row < of.m; row += row < 120 ? 3 : 25) {
    operands.scale_row(0, row, of.accuracy == SGEMM_ACCURACY_ROWWISE ? 0x1p-127F : 0x1p-60F);
  }
  operands.scale_column(0, of.n - 1, 0x1p-70F);
  // Residual tiles of A and B, some of which meet, in one layout. In the other one they would be too small.
  const float small = of.transa == SGEMM_OP_N ? 0x1p-30F : 0x1p-60F;
  for (const std::int64_t place : {1, 128}) {
    operands.op_a(0, 1, place % of.k) *= small;
    operands.op_b(0, place / 2 % of.k, 2) *= small;
  }
}

std::vector<Algorithm> algorithms_of(const GemmCase& product, const GemmBatch& batch) {
  const bool stacked = product.batch > 1;
  return product.accuracy == SGEMM_ACCURACY_COMPONENTWISE
             ? (stacked ? stacked_bf16x6_algorithms(batch, 132)
                        : joined(bf16x6_algorithms(batch, 132), lines_algorithms(batch, 5)))
         : product.accuracy == SGEMM_ACCURACY_NORMWISE
             ? (stacked ? stacked_fp16x3_algorithms : fp16x3_algorithms)(batch, 132)
             : reproducible_algorithms(batch, 132);
}

/// Adds the matrices of an operand. Kernels use nothing between their lines, nor around them.
void add(std::vector<simt::GlobalArray>& arrays, const char* name, StoredMatrix& operand, std::int64_t batch,
         bool writable = true) {
  const simt::Extents extents(operand.lines(), operand.length(), operand.ld());
  for (std::int64_t item = 0; item < batch; ++item) {
    arrays.push_back(simt::in_out(name, operand.data() + item * operand.stride(), extents));
    arrays.back().writable = writable;
  }
}

std::vector<simt::GlobalArray> arrays_of(GemmOperands& operands) {
  std::vector<simt::GlobalArray> arrays;
  add(arrays, "A", operands.a, operands.of.batch, false);
  add(arrays, "B", operands.b, operands.of.batch, false);
  add(arrays, "C", operands.c, operands.of.batch);
  return arrays;
}

/// Matrices have padding, so that lines that split into groups of four still do.
void expect_right_while_watched(const GemmCase& contiguous,
                                std::vector<Algorithm> (*algorithms)(const GemmCase&,
                                                                     const GemmBatch&) = algorithms_of) {
  const GemmCase product = contiguous.padded(4);
  GemmOperands measured(product);
  for (const Algorithm& algorithm : algorithms(product, batch_of(measured))) {
    SCOPED_TRACE(algorithm.kernel + " " + algorithm.configuration);
    GemmOperands operands(product, spread);
    const Expected expected(operands);
    DeviceBuffer<char> workspace(algorithm.workspace_bytes);
    {
      const simt::CheckedArrays checked(arrays_of(operands));
      algorithm.launch(batch_of(operands), workspace.data(), nullptr);
    }
    expected.check(operands);
  }
}

class WatchedAccuracyTest : public testing::TestWithParam<sgemm_accuracy_t> {};

TEST_P(WatchedAccuracyTest, LayoutsAndElementsThatAreComputedAgain) {
  for (const sgemm_op_t op : {SGEMM_OP_N, SGEMM_OP_T}) {
    expect_right_while_watched(laid_out(145, 270, 170, op, op, GetParam()).scaled(-1.5F, 0.5F));
  }
}

TEST_P(WatchedAccuracyTest, ManyProductsInALaunch) {
  if (GetParam() == SGEMM_ACCURACY_ROWWISE) {
    GTEST_SKIP() << "its kernels take products one by one";
  }
  for (const sgemm_op_t op : {SGEMM_OP_N, SGEMM_OP_T}) {
    expect_right_while_watched(laid_out(145, 270, 70, op, op, GetParam()).batched(2).scaled(-1.5F, 0.5F));
  }
}

INSTANTIATE_TEST_SUITE_P(Default, WatchedAccuracyTest, testing::Values(SGEMM_ACCURACY_COMPONENTWISE));
INSTANTIATE_TEST_SUITE_P(Lengthy, WatchedAccuracyTest,
                         testing::Values(SGEMM_ACCURACY_NORMWISE, SGEMM_ACCURACY_ROWWISE));

class WatchedLayoutTest : public testing::TestWithParam<std::tuple<sgemm_op_t, sgemm_op_t>> {};

/// So few multiprocessors have shares of several tiles.
TEST_P(WatchedLayoutTest, Fp32) {
  const auto [transa, transb] = GetParam();
  for (const std::int64_t n : {270, 272}) {  // columns that split into groups of four, and others
    const GemmCase product{n == 272 ? 144 : 145, n, 70, SGEMM_ORDER_ROW_MAJOR, transa, transb, -1.5F, 0.5F};
    expect_right_while_watched(
        product.with(SGEMM_ACCURACY_FP32).batched(2),
        [](const GemmCase&, const GemmBatch& batch) { return every_layout_algorithms(batch, 5); });
  }
}

INSTANTIATE_TEST_SUITE_P(Weights, WatchedLayoutTest, testing::Values(std::tuple(SGEMM_OP_N, SGEMM_OP_T)));
INSTANTIATE_TEST_SUITE_P(Lengthy, WatchedLayoutTest,
                         testing::Values(std::tuple(SGEMM_OP_N, SGEMM_OP_N), std::tuple(SGEMM_OP_T, SGEMM_OP_N),
                                         std::tuple(SGEMM_OP_T, SGEMM_OP_T)));

TEST(WatchedAlgorithmsTest, FewLines) {
  for (const auto& [m, n, k] : {std::tuple{5, 37, 1028}, {37, 13, 1540}}) {
    const GemmCase product{m, n, k, SGEMM_ORDER_ROW_MAJOR, SGEMM_OP_N, SGEMM_OP_T, -1.5F, 0.5F};
    expect_right_while_watched(product.with(SGEMM_ACCURACY_FP32).batched(2), [](const auto&, const GemmBatch& batch) {
      std::vector<Algorithm> all = every_layout_algorithms(batch, 132);
      std::erase_if(all, [](const Algorithm& one) { return !one.configuration.ends_with(" few"); });
      EXPECT_EQ(all.size(), 1);
      return all;
    });
  }
}

TEST(WatchedAlgorithmsTest, TallProducts) {
  // Lines that split into groups of four, and others. Last tiles lack most lines or k, or a single one.
  for (const auto& [m, n, k] : {std::tuple{270, 20, 150}, {20, 272, 127}, {255, 60, 148}, {100, 270, 150}}) {
    for (const sgemm_op_t op : {SGEMM_OP_N, SGEMM_OP_T}) {
      const GemmCase product = laid_out(m, n, k, op, op).batched(2).scaled(-1.5F, 0.5F);
      expect_right_while_watched(product, [](const GemmCase&, const GemmBatch& batch) {
        return joined(tall_bf16x6_algorithms(batch, 2), tall_bf16x6_algorithms(batch, 132));
      });
    }
  }
}

/// The last tiles are not full. What blocks of a cluster read of each other is not watched.
TEST(WatchedAlgorithmsTest, SmallProducts) {
  for (const sgemm_op_t op : {SGEMM_OP_N, SGEMM_OP_T}) {
    expect_right_while_watched(
        laid_out(148, 140, 136, op, op).batched(2).scaled(-1.5F, 0.5F),
        [](const GemmCase&, const GemmBatch& batch) { return small_bf16x6_algorithms(batch, 132); });
  }
}

/// Sums in parts, in several blocks of columns, and operands whose lines split into groups or do not.
TEST(WatchedAlgorithmsTest, ReproducibleWithFewRows) {
  for (const auto& [m, n, k] : {std::tuple{5, 37, 515}, {70, 68, 132}}) {
    for (const sgemm_op_t op : {SGEMM_OP_N, SGEMM_OP_T}) {
      const GemmCase product = laid_out(m, n, k, op, op, SGEMM_ACCURACY_REPRODUCIBLE).batched(2).scaled(-1.5F, 0.5F);
      expect_right_while_watched(
          product, [](const GemmCase&, const GemmBatch& batch) { return thin_reproducible_algorithms(batch, 132); });
    }
  }
}

class WatchedEpilogueTest : public testing::TestWithParam<std::tuple<sgemm_accuracy_t, EpilogueKind>> {};

/// A mask that elements are added to when they are computed again, and matrices beside D.
TEST_P(WatchedEpilogueTest, EveryAlgorithm) {
  const auto& [accuracy, kind] = GetParam();
  const GemmCase product =
      GemmCase{145, kind.has_other_c ? 271 : 272, 70, SGEMM_ORDER_ROW_MAJOR, SGEMM_OP_N, SGEMM_OP_T}
          .with(accuracy)
          .scaled(1.0F, 0.5F)
          .padded(4);
  EpilogueOperands measured(product, kind);
  for (const Algorithm& algorithm : algorithms_of(product, batch_of(measured.gemm))) {
    SCOPED_TRACE(algorithm.kernel + " " + algorithm.configuration);
    EpilogueOperands operands(product, kind, spread);
    const ExpectedEpilogue expected(operands);
    DeviceBuffer<char> workspace(algorithm.workspace_bytes);
    {
      std::vector<simt::GlobalArray> arrays = arrays_of(operands.gemm);
      add(arrays, "D", operands.other_d, 1);
      add(arrays, "argument", operands.argument, 1);
      arrays.push_back(simt::input("bias", operands.bias.device(), operands.bias.host().size()));
      arrays.push_back(simt::in_out("mask", operands.mask.device(), operands.mask.host().size()));
      const simt::CheckedArrays checked(arrays);
      launch_with_epilogue(algorithm, operands, workspace.data());
    }
    expected.check(operands);
  }
}

constexpr EpilogueKind RELU{SGEMM_ACTIVATION_RELU, true, SGEMM_BIAS_OF_COLUMNS, true, false};
constexpr EpilogueKind GELU{SGEMM_ACTIVATION_GELU, true, SGEMM_BIAS_OF_ROWS, true, true};
constexpr EpilogueKind GELU_GRADIENT{SGEMM_ACTIVATION_GELU_GRADIENT, false, SGEMM_BIAS_OF_ROWS, true, true};
constexpr EpilogueKind RELU_GRADIENT{SGEMM_ACTIVATION_RELU_GRADIENT, false, SGEMM_BIAS_OF_ROWS, true, false};

INSTANTIATE_TEST_SUITE_P(Default, WatchedEpilogueTest, testing::Values(std::tuple(SGEMM_ACCURACY_COMPONENTWISE, RELU)));
INSTANTIATE_TEST_SUITE_P(Lengthy, WatchedEpilogueTest,
                         testing::Values(std::tuple(SGEMM_ACCURACY_COMPONENTWISE, GELU),
                                         std::tuple(SGEMM_ACCURACY_NORMWISE, RELU),
                                         std::tuple(SGEMM_ACCURACY_COMPONENTWISE, GELU_GRADIENT),
                                         std::tuple(SGEMM_ACCURACY_NORMWISE, GELU),
                                         std::tuple(SGEMM_ACCURACY_COMPONENTWISE, RELU_GRADIENT),
                                         std::tuple(SGEMM_ACCURACY_NORMWISE, GELU_GRADIENT),
                                         std::tuple(SGEMM_ACCURACY_NORMWISE, RELU_GRADIENT)));

/// Chapter 15 has kernels of their own for these.
TEST(WatchedAlgorithmsTest, RowwiseOnLongSums) {
  for (const sgemm_op_t op : {SGEMM_OP_N, SGEMM_OP_T}) {
    expect_right_while_watched(laid_out(7, 10, 4101, op, op, SGEMM_ACCURACY_ROWWISE));
  }
}

}  // namespace
}  // namespace sgemm::test
