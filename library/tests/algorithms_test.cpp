// The kernels of chapters 09, 11 and 12 for operands of any layout, in every configuration, with epilogues and with
// packed operands, on sizes for which the library would call cuBLAS.

#include "algorithms.hpp"
#include "divisor.hpp"
#include "gemm_batch.hpp"
#include "gemm_case.hpp"
#include "packed.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace sgemm::test {
namespace {

/// Each with kernels of its own here.
constexpr sgemm_accuracy_t OWN[] = {SGEMM_ACCURACY_FP32, SGEMM_ACCURACY_COMPONENTWISE, SGEMM_ACCURACY_NORMWISE};

/// Those of chapter 11 or 12, which split operands.
std::vector<Algorithm> split_algorithms(sgemm_accuracy_t accuracy, const GemmBatch& batch,
                                        int multiprocessors = MULTIPROCESSORS) {
  return (accuracy == SGEMM_ACCURACY_COMPONENTWISE ? bf16x6_algorithms : fp16x3_algorithms)(batch, multiprocessors);
}

/// The algorithms of the accuracy's own chapter, one product after the other. Also for so few multiprocessors that they
/// have several tiles of chapter 09, and that chapter 12's lines divide the tiles of small products along k.
std::vector<Algorithm> algorithms_of(const GemmCase& product, const GemmBatch& batch) {
  if (product.accuracy == SGEMM_ACCURACY_FP32) {
    return joined(every_layout_algorithms(batch, MULTIPROCESSORS), every_layout_algorithms(batch, 3));
  }
  const std::vector<Algorithm> split = split_algorithms(product.accuracy, batch);
  return product.accuracy == SGEMM_ACCURACY_COMPONENTWISE ? joined(split, lines_algorithms(batch, 5)) : split;
}

/// Those with many products in a launch. So few multiprocessors have tiles of several products each.
std::vector<Algorithm> stacked_algorithms_of(const GemmCase& product, const GemmBatch& batch) {
  constexpr int FEW = 4;
  return product.accuracy == SGEMM_ACCURACY_FP32            ? every_layout_algorithms(batch, FEW)
         : product.accuracy == SGEMM_ACCURACY_COMPONENTWISE ? stacked_bf16x6_algorithms(batch, FEW)
                                                            : stacked_fp16x3_algorithms(batch, FEW);
}

using Look = std::function<void(GemmOperands&, const std::vector<float>&)>;
void look_at_nothing(GemmOperands&, const std::vector<float>&) {}

/// Operands as `change` leaves them, by each of the algorithms that `of(batch)` gives. Workspaces hold anything before.
/// `look` gets the results, and the memory of C as it was. Returns the number of algorithms.
template <class Algorithms>
std::size_t expect_right_in(const GemmCase& product, const Algorithms& of, const Change& change = change_nothing,
                            const Look& look = look_at_nothing) {
  GemmOperands given(product, change);
  const std::vector<Algorithm> algorithms = of(batch_of(given));
  const Expected expected(given);
  const std::vector<float> before = given.c.memory().host();
  for (const Algorithm& algorithm : algorithms) {
    SCOPED_TRACE(algorithm.kernel + " " + algorithm.configuration + " in " + std::to_string(algorithm.launches));
    GemmOperands operands(product, change);
    launch(algorithm, batch_of(operands));
    expected.check(operands);
    look(operands, before);
  }
  return algorithms.size();
}

/// In every configuration of the accuracy's chapter.
void expect_right_in_every_algorithm(const GemmCase& product, const Change& change = change_nothing) {
  const auto of = [&](const GemmBatch& batch) { return algorithms_of(product, batch); };
  EXPECT_GE(expect_right_in(product, of, change), product.accuracy == SGEMM_ACCURACY_FP32            ? 12
                                                  : product.accuracy == SGEMM_ACCURACY_COMPONENTWISE ? 8
                                                                                                     : 4);
}

/// In every configuration with many products in a launch.
void expect_right_stacked(const GemmCase& product, const Change& change = change_nothing) {
  const bool one_by_one_too = product.by_address && product.batch > 1;
  const auto of = [&](const GemmBatch& batch) { return stacked_algorithms_of(product, batch); };
  EXPECT_EQ(expect_right_in(product, of, change), product.accuracy == SGEMM_ACCURACY_FP32 || one_by_one_too ? 4 : 2);
}

/// The same with alpha and beta on the device.
template <class ExpectRight>
void expect_right_with_scalars_on_device(const GemmCase& product, const ExpectRight& expect_right) {
  for (const auto& [alpha, beta] : {std::tuple{-2.0F, 0.75F}, {1.0F, 0.0F}, {0.0F, 2.0F}, {0.0F, 0.0F}}) {
    expect_right(product.with(SGEMM_POINTER_MODE_DEVICE).scaled(alpha, beta));
  }
}

class LayoutTest : public testing::TestWithParam<std::tuple<sgemm_accuracy_t, sgemm_op_t, sgemm_op_t>> {
 protected:
  static GemmCase with(std::int64_t m, std::int64_t n, std::int64_t k) {
    const auto& [accuracy, transa, transb] = GetParam();
    return laid_out(m, n, k, transa, transb, accuracy);
  }
};

TEST_P(LayoutTest, SizesOnBothSidesOfTiles) { expect_right_in_every_algorithm(with(131, 259, 67).scaled(-1.5F, 0.5F)); }

TEST_P(LayoutTest, AlignedLinesAndLinesWithPadding) {
  expect_right_in_every_algorithm(with(128, 64, 128));
  expect_right_in_every_algorithm(with(129, 66, 132).padded(3, 1));
}

TEST_P(LayoutTest, ScalarsOnTheDevice) {
  expect_right_with_scalars_on_device(with(33, 35, 70),
                                      [](const GemmCase& product) { expect_right_in_every_algorithm(product); });
}

TEST_P(LayoutTest, InfNanAndScalesThatAreFarApart) {
  expect_right_in_every_algorithm(with(40, 50, 130), [](GemmOperands& operands) {
    operands.op_a(0, 3, 7) = INF;
    operands.op_a(0, 11, 100) = NAN_FLOAT;
    operands.op_b(0, 20, 9) = -INF;
    operands.scale_row(0, 30, 0x1p-60F);  // beyond what tensor cores are used for
    operands.scale_column(0, 41, 0x1p70F);
  });
}

/// That an element of C is a sum in the order of k, with a beta of 0.5.
void expect_plain_sum(GemmOperands& operands, const std::vector<float>& before, std::int64_t row, std::int64_t column) {
  float sum = 0.0F;
  for (std::int64_t k = 0; k < operands.of.k; ++k) {
    sum += operands.op_a(0, row, k) * operands.op_b(0, k, column);
  }
  const std::size_t index = operands.c.index(0, row, column);
  ASSERT_EQ(operands.c.memory().host()[index], sum + 0.5F * before[index]) << row << ", " << column;
}

/// Elements that tensor cores can not compute are sums of plain products in the order of k, in tiles with few such
/// rows, with many, with a column, and with both.
using RecomputedTest = LayoutTest;
TEST_P(RecomputedTest, ElementsThatAreComputedAgainHaveTheBitsOfAPlainSum) {
  const GemmCase product = with(150, 270, 170).scaled(1.0F, 0.5F);
  std::vector<std::int64_t> rows{130};
  for (std::int64_t row = 0; row < 128; row += 3) {
    if (row / 16 != 3) {
      rows.push_back(row);
    }
  }
  const std::vector<std::int64_t> columns{140, 141, 269};
  const auto is_in = [](const std::vector<std::int64_t>& lines, std::int64_t line) {
    return std::find(lines.begin(), lines.end(), line) != lines.end();
  };
  const std::size_t count = expect_right_in(
      product, [&](const GemmBatch& batch) { return split_algorithms(product.accuracy, batch); },
      [&](GemmOperands& operands) {
        operands.scale_a([&](std::int64_t row, std::int64_t) { return is_in(rows, row) ? 0x1p-60F : 1.0F; });
        operands.scale_b([&](std::int64_t, std::int64_t column) { return is_in(columns, column) ? 0x1p-70F : 1.0F; });
      },
      [&](GemmOperands& operands, const std::vector<float>& before) {
        operands.c.for_each([&](std::int64_t, std::int64_t row, std::int64_t column) {
          if (is_in(rows, row) || is_in(columns, column)) {
            expect_plain_sum(operands, before, row, column);
          }
        });
      });
  EXPECT_EQ(count, 4);
}

INSTANTIATE_TEST_SUITE_P(Lengthy, LayoutTest, testing::ValuesIn(combinations(OWN, N_AND_T, N_AND_T)));
INSTANTIATE_TEST_SUITE_P(Lengthy, RecomputedTest, testing::ValuesIn(combinations(OF_SPLIT_OPERANDS, N_AND_T, N_AND_T)));

TEST(LengthyAlgorithmsTest, Chapter09TakesWorkspacesThatHoldAnything) {
  expect_right_in_every_algorithm(GemmCase{200, 150, 1000}.with(SGEMM_ACCURACY_FP32));
}

/// The kernel for few rows or columns, which reads lines of four numbers along k: with a last group of lines and of k
/// that are not full, in batches, and with scalars on either side.
TEST(AlgorithmsTest, FewLines) {
  for (const auto& [few, many, k] : {std::tuple{1, 37, 516}, {3, 16, 2052}, {8, 50, 1024}, {13, 33, 1092}}) {
    for (const bool rows : {true, false}) {
      const GemmCase product =
          GemmCase{rows ? few : many, rows ? many : few, k, SGEMM_ORDER_ROW_MAJOR, SGEMM_OP_N, SGEMM_OP_T}.with(
              SGEMM_ACCURACY_FP32);
      const auto of = [](const GemmBatch& batch) {
        std::vector<Algorithm> all = every_layout_algorithms(batch, MULTIPROCESSORS);
        std::erase_if(all, [](const Algorithm& one) { return !one.configuration.ends_with(" few"); });
        return all;
      };
      const auto spoil = [](GemmOperands& operands) {
        operands.op_a(0, 0, 7) = INF;
        operands.op_b(0, 9, 0) = NAN_FLOAT;
      };
      EXPECT_EQ(expect_right_in(product.batched(3).scaled(-1.5F, 0.5F), of), 1);
      EXPECT_EQ(expect_right_in(product.padded(4, 0), of, spoil), 1);
      expect_right_with_scalars_on_device(product,
                                          [&](const GemmCase& one) { EXPECT_EQ(expect_right_in(one, of), 1); });
      EXPECT_EQ(expect_right_in(product.padded(3, 0), of), 0);
    }
  }
}

/// With more tiles of 128x128 than multiprocessors, 12 for 10 and 20 for 13: a last round that is divided by itself,
/// and one that is divided together with the round before. 130 k are three pieces, so that shares end within tiles.
TEST(LengthyAlgorithmsTest, LastRoundIsDivided) {
  for (const auto& [multiprocessors, m, n] : {std::tuple{10, 257, 385}, {13, 385, 513}}) {
    for (const sgemm_accuracy_t accuracy : OF_SPLIT_OPERANDS) {
      expect_right_in({m, n, 130}, [&, count = multiprocessors](const GemmBatch& batch) {
        return split_algorithms(accuracy, batch, count);
      });
    }
  }
}

/// Three FP16 products that keep small numbers.
class LinesTest : public testing::TestWithParam<std::tuple<sgemm_op_t, sgemm_op_t>> {
 protected:
  /// Five k-tiles, of which the last one is not whole, on so few multiprocessors that tiles are divided among them.
  GemmCase product() const {
    const auto& [transa, transb] = GetParam();
    return laid_out(140, 300, 300, transa, transb);
  }
  static void expect_right(const GemmCase& product, const Change& change) {
    for (const int multiprocessors : {MULTIPROCESSORS, 2}) {
      const auto of = [&](const GemmBatch& batch) { return lines_algorithms(batch, multiprocessors); };
      expect_right_in(product, of, change);
    }
  }
};

/// Shrinks the numbers of lines from `first` on, every `step`th, in some k-tiles, and makes the other operand 0 where
/// they are not small. So elements of C are made of small numbers alone.
void shrink(GemmOperands& operands, std::int64_t k_from, std::int64_t k_to, float factor_a, float factor_b) {
  const auto is_small = [&](std::int64_t k) { return k >= k_from && k < k_to; };
  operands.scale_a([&](std::int64_t row, std::int64_t k) {
    return row % 40 == 1 && is_small(k) ? factor_a : row % 40 == 5 && !is_small(k) ? 0.0F : 1.0F;
  });
  operands.scale_b([&](std::int64_t k, std::int64_t column) {
    return column % 50 == 2 && is_small(k) ? factor_b : column % 50 == 3 && !is_small(k) ? 0.0F : 1.0F;
  });
}

TEST_P(LinesTest, SmallNumbersOfAnyOperandHaveAllTheirDigits) {
  for (const auto& [factor_a, factor_b] :
       {std::tuple{0x1p-22F, 1.0F}, {1.0F, 0x1p-30F}, {0x1p-25F, 0x1p-36F}, {0x1p-41F, 0x1p-17F}, {0x1p-60F, 1.0F}}) {
    SCOPED_TRACE(testing::Message() << factor_a << ' ' << factor_b);
    expect_right(product(),
                 [&, a = factor_a, b = factor_b](GemmOperands& operands) { shrink(operands, 70, 80, a, b); });
  }
}

/// A and B have flags at different k.
TEST_P(LinesTest, FlagsOfBothOperandsMayLieApart) {
  expect_right(product().padded(1).scaled(-1.5F, 0.5F), [](GemmOperands& operands) {
    shrink(operands, 10, 20, 0x1p-28F, 1.0F);
    shrink(operands, 290, 300, 1.0F, 0x1p-33F);
  });
}

TEST_P(LinesTest, LinesMayHaveAnyScale) {
  expect_right(product(), [](GemmOperands& operands) {
    operands.scale_a([](std::int64_t row, std::int64_t) {
      return row % 3 == 0 ? 0x1p-127F : row % 3 == 1 ? 0x1p60F : row == 50 ? 0.0F : 1.0F;
    });
    operands.scale_b([](std::int64_t, std::int64_t column) { return column % 2 == 0 ? 0x1p40F : 0x1p-90F; });
    operands.op_a(0, 100, 3) = INF;
    operands.op_b(0, 200, 280) = NAN_FLOAT;
  });
}

/// Up to k = 32768 a cluster of blocks has a line in its registers. It reads longer ones in pieces.
TEST_P(LinesTest, OfEveryLength) {
  const auto& [transa, transb] = GetParam();
  for (const std::int64_t k : {2100, 8300, 33000}) {
    expect_right(laid_out(9, 18, k, transa, transb), [=](GemmOperands& operands) {
      shrink(operands, 10, 20, 0x1p-28F, 1.0F);
      shrink(operands, k - 30, k - 20, 1.0F, 0x1p-33F);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Lengthy, LinesTest, testing::ValuesIn(combinations(N_AND_T, N_AND_T)));

/// The results of an algorithm in 128x256 tiles that are not divided, as lines_algorithms() and bf16x6_algorithms()
/// have them.
std::vector<float> result_in_whole_tiles(const GemmCase& product, const Change& change,
                                         std::vector<Algorithm> (*algorithms)(const GemmBatch&, int)) {
  GemmOperands operands(product, change);
  for (const Algorithm& algorithm : algorithms(batch_of(operands), MULTIPROCESSORS)) {
    if (algorithm.configuration == "128x256") {
      launch(algorithm, batch_of(operands));
    }
  }
  return operands.c.memory().download();
}

/// Where most tiles have small numbers, or a number is smaller than what residuals hold, kernels take chapter 11's way.
TEST(LengthyAlgorithmsTest, LinesTakeSixProductsWhereThreeDoNotPay) {
  const GemmCase product{200, 300, 700};
  const auto takes_six = [&](const Change& change) {
    return result_in_whole_tiles(product, change, lines_algorithms) ==
           result_in_whole_tiles(product, change, bf16x6_algorithms);
  };
  const auto small_in = [](std::int64_t k_step, float factor, bool of_b) {
    return [=](GemmOperands& operands) {
      for (std::int64_t k = 0; k < operands.of.k; k += k_step) {
        operands.op_a(0, k % operands.of.m, k) *= factor;
        operands.op_b(0, k, k % operands.of.n) *= of_b ? factor : 1.0F;
      }
    };
  };
  EXPECT_FALSE(takes_six([](GemmOperands&) {}));
  EXPECT_FALSE(takes_six(small_in(128, 0x1p-25F, false)));
  EXPECT_TRUE(takes_six(small_in(32, 0x1p-25F, true))) << "flags of nearly all tiles";
  EXPECT_TRUE(takes_six([](GemmOperands& operands) { operands.op_b(0, 13, 5) = 0x1p-59F; })) << "too small";
  EXPECT_TRUE(takes_six([](GemmOperands& operands) {  // by samples
    operands.scale_a([](std::int64_t row, std::int64_t k) { return (row + k) % 64 == 0 ? 0x1p-25F : 1.0F; });
  }));
}

/// Batches with strides and with addresses.
class BatchTest : public testing::TestWithParam<std::tuple<sgemm_accuracy_t, bool>> {
 protected:
  static GemmCase with(const GemmCase& product, std::int64_t batch) {
    const auto& [accuracy, by_address] = GetParam();
    return product.with(accuracy).batched(batch, by_address);
  }
};

using LengthyBatchTest = BatchTest;

/// The second tile of each product is 128 columns wide where tiles are 256.
TEST_P(LengthyBatchTest, SizesOnBothSidesOfTilesInAllLayouts) {
  for (const auto& [transa, transb] : combinations(N_AND_T, N_AND_T)) {
    expect_right_stacked(with(laid_out(131, 259, 67, transa, transb), 2).padded(1).scaled(-1.5F, 0.5F));
  }
}

TEST_P(LengthyBatchTest, AlignedLines) {
  for (const auto& [padding, op] : combinations(std::array{0, 4}, N_AND_T)) {
    expect_right_stacked(with(laid_out(20, 12, 64, op, op), 5).padded(padding));
  }
}

TEST_P(LengthyBatchTest, ScalarsOnTheDevice) {
  expect_right_with_scalars_on_device(with({33, 35, 70}, 2),
                                      [](const GemmCase& product) { expect_right_stacked(product); });
}

/// Each product has rows, columns and numbers of its own that tensor cores can not multiply.
TEST_P(LengthyBatchTest, ElementsThatAreComputedAgain) {
  expect_right_stacked(with({140, 270, 70}, 3).scaled(1.0F, 0.5F), [](GemmOperands& operands) {
    operands.op_a(0, 3, 7) = INF;
    operands.op_b(1, 50, 200) = NAN_FLOAT;
    operands.scale_row(1, 130, 0x1p-60F);
    operands.scale_column(2, 269, 0x1p-70F);
  });
}

TEST_P(BatchTest, OfOne) { expect_right_stacked(with({30, 140, 65}, 1)); }

const auto BATCHES = testing::ValuesIn(combinations(OWN, BOTH));
INSTANTIATE_TEST_SUITE_P(Batches, BatchTest, BATCHES);
INSTANTIATE_TEST_SUITE_P(Batches, LengthyBatchTest, BATCHES);

/// Rows split into aligned groups, but only the first matrix begins at one.
TEST(AlgorithmsTest, StridesDecideWhatIsAligned) {
  constexpr std::int64_t BATCH = 4;
  constexpr std::int64_t STRIDE_A = 5 * 8 + 1;
  constexpr std::int64_t STRIDE_C = 5 * 6 + 1;
  GemmBatch batch{problem_of(5, 6, 8)};
  batch.count = BATCH;
  batch.stride_a = STRIDE_A;
  batch.stride_b = 8 * 6;
  batch.stride_c = STRIDE_C;
  Mirrored<float> a(BATCH * STRIDE_A, 1.0F);
  Mirrored<float> b(BATCH * 8 * 6, 2.0F);
  for (const Algorithm& algorithm :
       joined(stacked_bf16x6_algorithms(batch, MULTIPROCESSORS), every_layout_algorithms(batch, MULTIPROCESSORS))) {
    Mirrored<float> c(BATCH * STRIDE_C, OUTSIDE);
    batch.first.a = a.device();
    batch.first.b = b.device();
    batch.first.c = c.device();
    launch(algorithm, batch);
    const std::vector<float>& result = c.download();
    for (std::size_t i = 0; i < result.size(); ++i) {
      ASSERT_EQ(result[i], i % STRIDE_C < 30 ? 16.0F : OUTSIDE) << algorithm.configuration << ' ' << i;
    }
  }
}

TEST(LengthyAlgorithmsTest, BatchesGoOnFromStrideToStride) {
  for (const sgemm_accuracy_t accuracy : OWN) {
    const GemmCase product = GemmCase{30, 20, 70}.with(accuracy).padded(1).scaled(1.0F, 1.0F);
    expect_right_in_every_algorithm(product.batched(3));
    GemmOperands operands(product.batched(3, true));
    const bool in_one_launch = accuracy == SGEMM_ACCURACY_FP32;
    EXPECT_EQ(algorithms_of(operands.of, batch_of(operands)).empty(), !in_one_launch)
        << "addresses are not on the host";
  }
}

/// 1001 products of 1024 x 1024 x 1024 need 12 GB in chapter 11.
TEST(AlgorithmsTest, LargeBatchesAreCutIntoLaunches) {
  GemmBatch batch{problem_of(1024, 1024, 1024)};
  batch.count = 1001;
  for (const Algorithm& algorithm : stacked_bf16x6_algorithms(batch, MULTIPROCESSORS)) {
    EXPECT_LE(algorithm.workspace_bytes, std::size_t{1} << 30U) << algorithm.configuration;
    EXPECT_GE(algorithm.launches, 20) << algorithm.configuration;
    EXPECT_LE(algorithm.launches, 30) << algorithm.configuration;
    EXPECT_GT(algorithm.microseconds(), 1001 * 2 * 1024.0 * 1024.0 * 1024.0 / 150e6);  // at 150 TFLOP/s
  }
  for (const Algorithm& algorithm : bf16x6_algorithms(batch, MULTIPROCESSORS)) {
    EXPECT_EQ(algorithm.launches, 1001);
  }
}

/// Tensor cores add up 64 products at a time, and elements that are computed again one by one. Roundings of equal
/// products all go the same way there.
TEST(LengthyAlgorithmsTest, EqualProductsThatAreComputedAgainHaveTheBoundOfSuchSums) {
  expect_right_in_every_algorithm(GemmCase{40, 20, 2500}.with(&GemmCase::one_way, true), [](GemmOperands& operands) {
    for (StoredMatrix* const matrix : {&operands.a, &operands.b}) {
      matrix->for_each(
          [&](std::int64_t item, std::int64_t row, std::int64_t column) { matrix->at(item, row, column) = 0.9F; });
    }
    operands.scale_row(0, 7, 0x1p-60F);
  });
}

/// Numbers far apart in a row and in a column. Products 2^130 below the largest possible one keep their digits.
TEST(LengthyAlgorithmsTest, ProductsFarBelowTheLargestNumbersKeepTheirDigits) {
  for (const int below : {90, 110, 130}) {
    expect_right_in_every_algorithm({140, 40, 200}, [&](GemmOperands& operands) {
      // Every second number is large in A, and 0 in B.
      operands.scale_a([&](std::int64_t, std::int64_t k) { return std::ldexp(1.0F, k % 2 == 0 ? 60 : 60 - below); });
      operands.scale_b([](std::int64_t k, std::int64_t) { return k % 2 == 0 ? 0.0F : 0x1p60F; });
    });
  }
}

/// Operand tiles grow along k, so that the sums of the first ones are scaled down again and again. Every fifth row has
/// nothing but these. Up to 2^160 in all they keep their digits. At 2^200 they are lost, within the last term of the
/// bound. Where one step is too large for accumulators, all is computed again.
TEST(LengthyAlgorithmsTest, SumsThatAreScaledDownAgainAndAgainStayWithinTheBound) {
  for (const sgemm_accuracy_t accuracy : OF_SPLIT_OPERANDS) {
    for (const auto& [tiles, growth_of_a, growth_of_b] :
         {std::tuple{5, 10, 10}, {5, 24, 16}, {6, 24, 16}, {5, 24, 24}}) {
      const auto grown = [](std::int64_t k, int growth, int from) {
        return std::ldexp(1.0F, static_cast<int>(k / 64) * growth - from);
      };
      const GemmCase product = GemmCase{140, 40, 64 * tiles}.with(accuracy).with(&GemmCase::far_apart, tiles == 6);
      expect_right_in_every_algorithm(product, [&, a = growth_of_a, b = growth_of_b](GemmOperands& operands) {
        operands.scale_a(
            [&](std::int64_t row, std::int64_t k) { return row % 5 == 2 && k >= 64 ? 0.0F : grown(k, a, 60); });
        operands.scale_b([&](std::int64_t k, std::int64_t) { return grown(k, b, 40); });
      });
    }
  }
}

/// Elements of two products of a batch are computed again.
void spoil_two_products(GemmOperands& operands) {
  operands.op_a(1, 3, 7) = INF;
  operands.op_b(2, 5, 1) = NAN_FLOAT;
}

/// Products of few rows or columns, in one kernel that splits the other operand while it multiplies.
class LengthyTallTest : public testing::TestWithParam<std::tuple<bool, sgemm_op_t, sgemm_op_t>> {
 protected:
  /// C has `lines` rows and `width` columns, or is the transposed of such a C.
  static GemmCase with(std::int64_t lines, std::int64_t width, std::int64_t k) {
    const auto& [flat, transa, transb] = GetParam();
    return laid_out(flat ? width : lines, flat ? lines : width, k, transa, transb);
  }

  /// With so many multiprocessors that shares of k are short, and with so few that shares have several tiles.
  static void expect_right_tall(const GemmCase& product, const Change& change = change_nothing, int few = 3) {
    for (const int multiprocessors : {few, MULTIPROCESSORS}) {
      SCOPED_TRACE(multiprocessors);
      const auto of = [&](const GemmBatch& batch) { return tall_bf16x6_algorithms(batch, multiprocessors); };
      EXPECT_EQ(expect_right_in(product, of, change), 1);
    }
  }
};

TEST_P(LengthyTallTest, SizesOnBothSidesOfTilesAndLongSums) {
  for (const std::int64_t width : {1, 32, 63, 66, 128}) {
    expect_right_tall(with(275, width, 67).scaled(-1.5F, 0.5F));
  }
  for (const std::int64_t width : {20, 33, 70}) {
    expect_right_tall(with(140, width, 900));
  }
}

TEST_P(LengthyTallTest, AlignedLinesAndLinesWithPadding) {
  expect_right_tall(with(256, 64, 128));
  expect_right_tall(with(132, 68, 132).padded(3, 1));
}

TEST_P(LengthyTallTest, ScalarsOnTheDevice) {
  expect_right_with_scalars_on_device(with(133, 35, 70), [](const GemmCase& product) { expect_right_tall(product); });
}

/// Denormal numbers keep all of their digits beside large ones. Numbers so large that products overflow before their
/// scaling is undone are computed again.
TEST_P(LengthyTallTest, NumbersOfAnySize) {
  for (const std::int64_t width : {21, 40, 100}) {
    expect_right_tall(with(150, width, 200), [](GemmOperands& operands) {
      operands.scale_a([](std::int64_t row, std::int64_t k) {
        return row % 5 != 0 ? 1.0F : k < 70 ? 0x1p-60F : 0x1p40F;
      });
      operands.scale_b(
          [](std::int64_t k, std::int64_t column) { return column % 7 == 3 && k < 140 ? 0x1p-20F : 0x1p40F; });
      operands.scale_row(0, 1, 0x1p-130F);
      operands.op_a(0, 2, 100) = 0x1p86F;
      operands.op_a(0, 3, 7) = INF;
      operands.op_a(0, 11, 100) = NAN_FLOAT;
      operands.op_b(0, 20, 9) = -INF;
    });
  }
}

/// No operand has a scale of its own. The long one may be tiny where the other one is large in some places and small in
/// others: along k, and from column to column.
TEST_P(LengthyTallTest, TinyNumbersBesideASpreadOperand) {
  expect_right_tall(with(140, 40, 200), [](GemmOperands& operands) {
    const auto factor = [](bool of_long, std::int64_t line, std::int64_t k) {
      const bool odd_tile = k / 64 % 2 == 1;
      const bool odd = line % 2 == 1;
      return of_long    ? (line % 3 == 0 ? 0x1p-130F : 0x1p-110F)
             : odd_tile ? (odd ? 0x1p10F : 0x1p50F)
                        : (odd ? 0.0F : 0x1p90F);
    };
    const bool tall = operands.of.m > operands.of.n;
    operands.scale_a([&](std::int64_t row, std::int64_t k) { return factor(tall, row, k); });
    operands.scale_b([&](std::int64_t k, std::int64_t column) { return factor(!tall, column, k); });
  });
}

TEST_P(LengthyTallTest, Batches) {
  for (const auto& [by_address, width] : combinations(BOTH, std::array{30, 50, 120})) {
    expect_right_tall(with(200, width, 140).batched(3, by_address).scaled(1.0F, 1.0F), spoil_two_products, 2);
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, LengthyTallTest, testing::ValuesIn(combinations(BOTH, N_AND_T, N_AND_T)));

/// Elements that are computed again are sums of plain products in the order of k.
TEST(TallAlgorithmsTest, ElementsThatAreComputedAgainHaveTheBitsOfAPlainSum) {
  for (const bool flat : {false, true}) {
    const GemmCase product = GemmCase{flat ? 60 : 300, flat ? 300 : 60, 170}.scaled(1.0F, 0.5F);
    expect_right_in(
        product, [](const GemmBatch& batch) { return tall_bf16x6_algorithms(batch, 5); },
        [](GemmOperands& operands) { operands.scale_row(0, 50, 0x1p95F); },
        [](GemmOperands& operands, const std::vector<float>& before) { expect_plain_sum(operands, before, 50, 7); });
  }
}

/// All six products of terms are there: without one of the smallest the error would be twenty times as large.
TEST(TallAlgorithmsTest, TheErrorIsThatOfChapter11) {
  for (const std::int64_t width : {32, 64, 128}) {
    GemmOperands operands({130, width, 500});
    const Expected expected(operands, operands.of.m);
    launch(tall_bf16x6_algorithms(batch_of(operands), MULTIPROCESSORS).front(), batch_of(operands));
    const std::vector<float>& c = operands.c.memory().download();
    double error = 0.0;
    double size = 0.0;
    for (const Expected::Element& element : expected.elements()) {
      error += std::pow(c[element.index] - element.value, 2);
      size += std::pow(element.value, 2);
    }
    EXPECT_LT(std::sqrt(error / size), 1.5e-7) << width;
  }
}

TEST(TallAlgorithmsTest, SquareProductsHaveNone) {
  EXPECT_TRUE(tall_bf16x6_algorithms({problem_of(129, 129, 129)}, MULTIPROCESSORS).empty());
  EXPECT_EQ(tall_bf16x6_algorithms({problem_of(129, 128, 129)}, MULTIPROCESSORS).size(), 1U);
}

/// Small products in one launch, whose blocks split their operands themselves.
class SmallTest : public testing::TestWithParam<std::tuple<sgemm_op_t, sgemm_op_t>> {
 protected:
  static GemmCase with(std::int64_t m, std::int64_t n, std::int64_t k) {
    const auto& [transa, transb] = GetParam();
    return laid_out(m, n, k, transa, transb);
  }

  /// With k in each number of parts that it has k-tiles for.
  static void expect_right_small(const GemmCase& product, std::size_t divisions,
                                 const Change& change = change_nothing) {
    const auto of = [](const GemmBatch& batch) { return small_bf16x6_algorithms(batch, MULTIPROCESSORS); };
    EXPECT_EQ(expect_right_in(product, of, change), divisions);
  }
};

using LengthySmallTest = SmallTest;

TEST_P(LengthySmallTest, SizesOnBothSidesOfTilesLongSumsAndPadding) {
  expect_right_small(with(132, 260, 68).scaled(-1.5F, 0.5F), 2);
  expect_right_small(with(64, 128, 520), 8);
  expect_right_small(with(20, 136, 132).padded(4), 3);
}

TEST_P(LengthySmallTest, ScalarsOnTheDevice) {
  expect_right_with_scalars_on_device(with(132, 36, 72),
                                      [](const GemmCase& product) { expect_right_small(product, 2); });
}

/// Denormal numbers keep all of their digits beside large ones. Numbers so large that they overflow with the scale that
/// all have, or sums of them, are computed again.
TEST_P(SmallTest, NumbersOfAnySize) {
  expect_right_small(with(152, 132, 200), 4, [](GemmOperands& operands) {
    operands.scale_a([](std::int64_t row, std::int64_t k) {
      return row % 5 != 0 ? 1.0F : k < 70 ? 0x1p-60F : 0x1p40F;
    });
    operands.scale_b([](std::int64_t k, std::int64_t column) {
      return column % 3 != 0 ? 1.0F : column % 2 == 1 && k < 140 ? 0x1p-20F : 0x1p45F;
    });
    operands.scale_row(0, 1, 0x1p-130F);
    operands.scale_column(0, 1, 0x1p-128F);
    operands.op_b(0, 30, 130) = 0x1p106F;
    operands.op_a(0, 3, 7) = INF;
    operands.op_a(0, 11, 100) = NAN_FLOAT;
    operands.op_a(0, 151, 199) = INF;
    operands.op_b(0, 20, 130) = -INF;
  });
}

TEST_P(LengthySmallTest, Batches) {
  expect_right_small(with(140, 132, 132).batched(3).scaled(1.0F, 1.0F), 3, spoil_two_products);
}

// Sanitizers see one layout.
INSTANTIATE_TEST_SUITE_P(Layout, SmallTest, testing::Values(std::tuple{SGEMM_OP_N, SGEMM_OP_T}));
INSTANTIATE_TEST_SUITE_P(LengthyLayouts, SmallTest,
                         testing::Values(std::tuple{SGEMM_OP_N, SGEMM_OP_N}, std::tuple{SGEMM_OP_T, SGEMM_OP_N},
                                         std::tuple{SGEMM_OP_T, SGEMM_OP_T}));
INSTANTIATE_TEST_SUITE_P(Layouts, LengthySmallTest, testing::ValuesIn(combinations(N_AND_T, N_AND_T)));

TEST(SmallAlgorithmsTest, LargeAndUnalignedProductsHaveNone) {
  const auto count = [](std::int64_t size, std::int64_t products) {
    GemmOperands measure({size, size, 64});
    GemmBatch batch = batch_of(measure);
    batch.count = products;
    return small_bf16x6_algorithms(batch, 4).size();
  };
  EXPECT_EQ(count(512, 1), 1U);
  EXPECT_EQ(count(516, 1), 0U);
  EXPECT_EQ(count(256, 4), 1U);
  EXPECT_EQ(count(256, 5), 1U);
  EXPECT_EQ(count(130, 1), 0U);
}

/// Two blocks have three tiles each, of products in turn. Elements that are computed again wait until the last one.
TEST(SmallAlgorithmsTest, BlocksGoOnFromTileToTile) {
  const GemmCase product = GemmCase{132, 20, 72}.batched(3).scaled(0.5F, 1.0F);
  const auto of = [](const GemmBatch& batch) { return small_bf16x6_algorithms(batch, 2); };
  EXPECT_EQ(expect_right_in(product, of, spoil_two_products), 1);
}

// ---- Epilogues in the kernels ----

/// All that have epilogues. So few multiprocessors divide tiles along k.
std::vector<Algorithm> algorithms_with_epilogues(sgemm_accuracy_t accuracy, const GemmBatch& batch) {
  constexpr int FEW = 3;
  const std::vector<Algorithm> split = split_algorithms(accuracy, batch, FEW);
  return accuracy == SGEMM_ACCURACY_COMPONENTWISE ? joined(split, lines_algorithms(batch, FEW)) : split;
}

void expect_right_with_epilogue(const GemmCase& product, const EpilogueKind& kind,
                                const Change& change = change_nothing) {
  EpilogueOperands given(product, kind, change);
  const ExpectedEpilogue expected(given, 150);
  const std::vector<Algorithm> algorithms = algorithms_with_epilogues(product.accuracy, batch_of(given.gemm));
  EXPECT_EQ(algorithms.size(), product.accuracy == SGEMM_ACCURACY_COMPONENTWISE ? 8 : 4);
  for (const Algorithm& algorithm : algorithms) {
    SCOPED_TRACE(algorithm.kernel + " " + algorithm.configuration);
    EpilogueOperands operands(product, kind, change);
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
    expect_right_with_epilogue(product, kind, [small = k_major ? 0x1p-30F : 0x1p-60F](GemmOperands& operands) {
      operands.op_a(0, 1, 2) *= small;
      operands.op_b(0, 3, 200) *= small;
    });
    k_major = !k_major;
  }
}

TEST_P(EpilogueTest, AlignedLinesAndLinesWithPadding) {
  bool k_major = false;
  for (const EpilogueKind& kind : EPILOGUES) {
    expect_right_with_epilogue(with(136, 72, 128, k_major), kind);
    expect_right_with_epilogue(with(33, 68, 36, k_major).scaled(1.0F, 1.0F).padded(3, 1), kind);
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
      expect_right_with_epilogue(product.scaled(alpha, beta), kind);
    }
  }
}

/// Elements that tensor cores can not compute get their epilogue once, in tiles with few of them and with many.
TEST_P(EpilogueTest, InfNanAndScalesThatAreFarApart) {
  for (const EpilogueKind& kind : EPILOGUES) {
    expect_right_with_epilogue(with(140, 150, 70, true).scaled(1.0F, 0.5F), kind, [](GemmOperands& operands) {
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

// ---- Packed operands: kernels have the bits that they have when they split both ----

/// Which operands are packed, and how.
struct Sides {
  bool a;
  bool b;
};
constexpr Sides ALL_SIDES[] = {{true, false}, {false, true}, {true, true}};

/// The operand tiles of a batch's operands.
class Tiles {
 public:
  Tiles(Method method, const GemmProblem& p, const Sides& sides) {
    packed_.method = method;
    if (sides.a) {
      GemmProblem rows = p;
      rows.n = 0;
      packed_.a = split(method, rows, a_);
    }
    if (sides.b) {  // its columns as rows
      GemmProblem rows = p;
      rows.m = p.n;
      rows.n = 0;
      rows.a = p.b;
      rows.lda = p.ldb;
      rows.a_transposed = !p.b_transposed;
      packed_.b = split(method, rows, b_);
    }
  }
  const PackedTiles& get() const { return packed_; }

 private:
  static const void* split(Method method, const GemmProblem& rows, std::unique_ptr<Mirrored<float>>& memory) {
    const Packing how = packing(method, rows);
    EXPECT_GT(how.bytes, 0);
    memory = std::make_unique<Mirrored<float>>(how.bytes / sizeof(float) + 1, NAN_FLOAT);
    how.enqueue(memory->device(), nullptr);
    return memory->device();
  }

  PackedTiles packed_;
  std::unique_ptr<Mirrored<float>> a_;
  std::unique_ptr<Mirrored<float>> b_;
};

/// Numbers of which tensor cores can not multiply all.
void spread(GemmOperands& operands) {
  const GemmCase& of = operands.of;
  operands.scale_row(0, of.m / 2, 0x1p-60F);
  operands.scale_column(0, of.n - 1, 0x1p-60F);
  operands.op_a(0, 0, of.k / 2) = INF;
  operands.op_b(0, 0, of.n / 3) = NAN_FLOAT;
}

/// With packed operands of any side the kernels have the bits that they have without, and masks as well.
void expect_same_bits(const GemmCase& product, const EpilogueKind& kind = {}) {
  const Method method = *method_of_packed(product.accuracy);
  const auto run = [&](const Algorithm& algorithm, EpilogueOperands& operands, const GemmBatch& batch) {
    if (kind.has_bias) {
      launch_with_epilogue(algorithm, operands, workspace_of(algorithm).device(), batch.first.packed);
    } else {
      launch(algorithm, batch);
    }
    operands.mask.download();
    return operands.d().memory().download();
  };
  EpilogueOperands shape(product, kind);
  const std::vector<Algorithm> plain = split_algorithms(product.accuracy, batch_of(shape.gemm));
  ASSERT_FALSE(plain.empty());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EpilogueOperands expected(product, kind, spread);
    const std::vector<float> bits = run(plain[i], expected, batch_of(expected.gemm));
    for (const Sides& sides : ALL_SIDES) {
      EpilogueOperands operands(product, kind, spread);
      GemmBatch batch = batch_of(operands.gemm);
      const Tiles tiles(method, batch.first, sides);
      batch.first.packed = tiles.get();
      const Algorithm algorithm = split_algorithms(product.accuracy, batch)[i];
      SCOPED_TRACE(operands.describe() + " " + algorithm.kernel + " " + algorithm.configuration);
      EXPECT_EQ(algorithm.configuration, plain[i].configuration + (!sides.b   ? " packed A"
                                                                   : !sides.a ? " packed B"
                                                                              : " packed A and B"));
      EXPECT_LT(algorithm.workspace_bytes, plain[i].workspace_bytes);
      EXPECT_TRUE(same_bits(run(algorithm, operands, batch), bits));
      EXPECT_EQ(operands.mask.host(), expected.mask.host());
    }
  }
}

class PackedTest : public LayoutTest {};

TEST_P(PackedTest, SizesOnBothSidesOfTiles) { expect_same_bits(with(131, 259, 67).scaled(-1.5F, 0.5F)); }

TEST_P(PackedTest, AlignedLinesAndLinesWithPadding) {
  expect_same_bits(with(128, 64, 128).scaled(-1.5F, 0.5F));
  expect_same_bits(with(9, 130, 132).scaled(-1.5F, 0.5F).padded(3, 1));
}

INSTANTIATE_TEST_SUITE_P(Lengthy, PackedTest, testing::ValuesIn(combinations(OF_SPLIT_OPERANDS, N_AND_T, N_AND_T)));

TEST(PackedEpilogueTest, HasTheSameBits) {
  for (const sgemm_accuracy_t accuracy : OF_SPLIT_OPERANDS) {
    expect_same_bits(GemmCase{33, 140, 70}.with(accuracy),
                     {SGEMM_ACTIVATION_RELU, true, SGEMM_BIAS_OF_COLUMNS, true, false});
  }
}

/// What no call of the interface makes on one device by one library.
TEST(PackedObjectTest, OfAnotherLayoutOrDeviceIsRefused) {
  const Handle handle;
  GemmOperands operands({13, 7, 29});
  const Expected expected(operands);
  const PackedOperand b(handle, operands, SGEMM_SIDE_B);
  const auto call_spoilt = [&](const auto& spoil) {
    sgemm_packed spoilt = *b.get();
    spoil(spoilt);
    sgemm_product_t product = operands.product();
    product.b.packed = &spoilt;
    return operands.call(handle, product);
  };
  EXPECT_EQ(call_spoilt([](sgemm_packed& it) { ++it.layout; }), SGEMM_STATUS_INVALID_VALUE);
  EXPECT_EQ(call_spoilt([](sgemm_packed& it) { ++it.device; }), SGEMM_STATUS_INVALID_VALUE);
  expected.check_unchanged(operands);
  EXPECT_EQ(call_spoilt([](sgemm_packed&) {}), SGEMM_STATUS_SUCCESS);
  expected.check(operands);
}

/// A product that chapter 12 gets, through the C interface: a packed operand spares the time of its splitting, and bits
/// stay the same.
TEST(LengthyPackedTest, ALargeProductReadsTheTerms) {
  const Handle handle;
  const GemmCase product = laid_out(1280, 1280, 256, SGEMM_OP_N, SGEMM_OP_T, SGEMM_ACCURACY_NORMWISE);
  GemmOperands expected(product);
  ASSERT_EQ(expected.call(handle), SGEMM_STATUS_SUCCESS);
  GemmOperands operands(product);
  const sgemm_plan_t plain = planned(handle, operands.product());
  EXPECT_STREQ(plain.kernel, "12_fp16x3");
  const PackedOperand a(handle, operands, SGEMM_SIDE_A);
  const sgemm_plan_t plan = planned(handle, product_of(operands, &a, nullptr));
  EXPECT_EQ(plan.configuration, std::string(plain.configuration) + " packed B");  // of the row-major product
  EXPECT_LT(plan.predicted_us, plain.predicted_us);
  ASSERT_EQ(operands.call(handle, product_of(operands, &a, nullptr)), SGEMM_STATUS_SUCCESS);
  EXPECT_TRUE(same_bits(operands.c.memory().download(), expected.c.memory().download()));
  operands.of.pointer_mode = SGEMM_POINTER_MODE_DEVICE;  // where an alpha of 0 could not hide a packed NaN
  set(handle, operands.of);
  EXPECT_STREQ(planned(handle, product_of(operands, &a, nullptr)).configuration, plain.configuration);
}

/// Terms of one chapter are nothing to another one.
TEST(PackedAlgorithmTest, IsOfOneMethod) {
  GemmOperands operands({256, 256, 256});
  GemmBatch batch = batch_of(operands);
  batch.first.packed = {Method::fp16x3, nullptr, operands.b.data()};
  EXPECT_EQ(bf16x6_algorithms(batch, MULTIPROCESSORS).front().configuration, "128x128");
  EXPECT_EQ(fp16x3_algorithms(batch, MULTIPROCESSORS).front().configuration, "128x128 packed B");
}

/// The splitting is spared, and memory gives the terms of a few rows no faster.
TEST(PackedAlgorithmTest, IsPredictedToTakeLess) {
  const auto predicted = [](std::int64_t m, sgemm_accuracy_t accuracy, bool packed) {
    GemmBatch batch{problem_of(m, 4096, 4096)};
    batch.first.packed = {*method_of_packed(accuracy), nullptr, packed ? &batch : nullptr};
    double least = 1e9;
    for (const Algorithm& algorithm : split_algorithms(accuracy, batch)) {
      least = std::min(least, algorithm.microseconds());
    }
    return least;
  };
  for (const sgemm_accuracy_t accuracy : OF_SPLIT_OPERANDS) {
    const double terms_us = 4096.0 * 4096.0 * (accuracy == SGEMM_ACCURACY_COMPONENTWISE ? 6 : 4) / 3.8e6;
    for (const std::int64_t m : {8, 128, 4096}) {
      EXPECT_LT(predicted(m, accuracy, true) + 0.9 * terms_us, predicted(m, accuracy, false)) << m;
      EXPECT_GT(predicted(m, accuracy, true), terms_us);
    }
  }
}

/// What kernels divide by instead of a division.
TEST(DivisorTest, DividesAsTheLanguageDoes) {
  constexpr int LARGEST = std::numeric_limits<int>::max();
  for (const int value :
       {1, 2, 3, 5, 7, 8, 9, 64, 100, 132, 641, 65535, 65536, 65537, LARGEST / 2, LARGEST - 1, LARGEST}) {
    const Divisor divisor(value);
    const auto check = [&](int number) {
      ASSERT_EQ(divisor(number), number / value) << number << " / " << value;
      ASSERT_EQ(divisor.rest(number), number % value) << number << " / " << value;
    };
    for (int number = 0; number < 1000; ++number) {
      check(number);
      check(LARGEST - number);
    }
    const std::int64_t step = std::max(1, LARGEST / 1000 / value) * std::int64_t{value};
    for (std::int64_t multiple = value; multiple <= LARGEST; multiple += step) {
      check(static_cast<int>(multiple - 1));  // where a reciprocal that is too large or too small shows
      check(static_cast<int>(multiple));
    }
  }
}

}  // namespace
}  // namespace sgemm::test
