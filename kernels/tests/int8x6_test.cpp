// Chapters 13 and 17 on the executor against the exact sums of the same digits, how large the errors are, and sums that
// are too long for INT32.

#include "base/kernel.hpp"
#include "fixtures/product_case.hpp"
#include "fixtures/same_bits.hpp"
#include "fixtures/tested_kernel.hpp"
#include "problem/operands.hpp"
#include "verify/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sgemm::test {
namespace {

const Kernel& int8x6() {
  return *std::find_if(kernels().begin(), kernels().end(), [](const Kernel& k) { return k.id() == "13_int8x6"; });
}
const Kernel& int8x6_mma() {
  return *std::find_if(kernels().begin(), kernels().end(), [](const Kernel& k) { return k.id() == "17_int8x6_mma"; });
}

class Int8x6Test : public testing::Test {
 protected:
  void SetUp() override {
    if (!int8x6().build(Target::for_executor) || !int8x6_mma().build(Target::for_executor)) {
      GTEST_SKIP() << "this build has no chapter 13 or 17 for the executor";
    }
  }
};

/// Gives rows and columns scales of their own, most of them by a single number.
void scale_lines(HostCase& host) {
  for (std::int64_t i = 0; i < host.a.rows(); ++i) {
    for (std::int64_t k = 0; k < host.a.cols(); ++k) {
      host.a.at(i, k) = std::ldexp(host.a.at(i, k), static_cast<int>(i * 7 % 41) - 20);
    }
  }
  for (std::int64_t k = 0; k < host.b.rows(); ++k) {
    for (std::int64_t j = 0; j < host.b.cols(); ++j) {
      host.b.at(k, j) = std::ldexp(host.b.at(k, j), static_cast<int>(j * 5 % 19) - 9);
    }
  }
  for (std::int64_t i = 0; i < host.a.rows(); ++i) {
    float& large = host.a.at(i, i * 1031 % host.a.cols());
    large = std::ldexp(large, 6);
  }
  for (std::int64_t j = 0; j < host.b.cols(); ++j) {
    float& large = host.b.at(j * 1031 % host.b.rows(), j);
    large = std::ldexp(large, 6);
  }
}

std::string k_of(const testing::TestParamInfo<ProductCase>& info) { return std::to_string(info.param.k); }

/// By K: numbers of a line that are all in registers, or in shared memory too, or read twice.
class Int8x6LinesTest : public Int8x6Test, public testing::WithParamInterface<ProductCase> {};

TEST_P(Int8x6LinesTest, IsTheRoundedSumOfSixProductsOfDigits) {
  ProductCase product = GetParam();
  product.change = {"scaled", scale_lines};
  const HostCase host(product);
  Matrix defined = defined_result(host);
  Matrix c = host.c;
  int8x6().build(Target::for_executor).prepare(host.shape)(host.problem(c), nullptr);
  for (std::int64_t row = 0; row < product.m; ++row) {
    for (std::int64_t col = 0; col < product.n; ++col) {
      // Sums are rounded twice, and those of the definition once.
      ASSERT_NEAR(c.at(row, col), defined.at(row, col), 0x1.8p-23 * std::fabs(defined.at(row, col)))
          << row << ' ' << col;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(LinesOfABlock, Int8x6LinesTest,
                         testing::Values(ProductCase{70, 140, 300}, ProductCase{20, 26, 1100},
                                         ProductCase{20, 26, 2048}, ProductCase{20, 26, 4300},
                                         ProductCase{5, 7, 16500}),
                         k_of);

/// Simulated errors, with a tenth more for chance. Products of five, or digits of 7 bits, have far larger ones.
TEST_F(Int8x6Test, ErrorsAreTheSimulatedOnes) {
  for (const auto& [data, largest] :
       {std::pair(Distribution::uniform, 3.2e-7), std::pair(Distribution::uniform01, 4.2e-8),
        std::pair(Distribution::normal, 6.5e-7), std::pair(Distribution::lognormal1, 8.0e-7)}) {
    HostCase host({130, 140, 256});
    const HostOperands operands = make_operands(host.shape, data, HostCase::SEED);
    host.a.assign(operands.a);
    host.b.assign(operands.b);
    Matrix c = host.c;
    const auto reference = Reference::compute(host.problem(c), Platform::cpu, HostCase::SEED);
    int8x6().build(Target::for_executor).prepare(host.shape)(host.problem(c), nullptr);
    const Verdict verdict = reference->check(c.data(), c.ld(), int8x6().accuracy);
    EXPECT_TRUE(verdict.correct()) << verdict.describe();
    EXPECT_LT(verdict.rel_err, largest) << to_string(data);
    EXPECT_GT(verdict.rel_err, 0.4 * largest) << to_string(data);
  }
}

using LengthyInt8x6Test = Int8x6Test;

/// The digits are -126, -128 and -128 everywhere, so that the sum of three products passes 2^31 at k = 44151.
TEST_F(LengthyInt8x6Test, SumsThatInt32CouldNotHoldAreCut) {
  constexpr float NUMBER = -8290432.0F;
  ProductCase product{1, 2, 44500};
  product.change = {"largest_sums", [](HostCase& host) {
                      host.a.fill(NUMBER);
                      host.b.fill(NUMBER);
                    }};
  const HostCase host(product);
  const double expected = 44500.0 * NUMBER * NUMBER;
  for (const Prepared& whole : {int8x6().build(Target::for_executor).prepare(host.shape),
                                int8x6_mma().build(Target::for_executor).prepare(host.shape)}) {
    for (int launch = 0; launch < 2; ++launch) {
      Matrix c = host.c;
      whole(host.problem(c), nullptr);
      for (std::int64_t col = 0; col < product.n; ++col) {
        EXPECT_NEAR(c.at(0, col), expected, 1e-6 * expected);
      }
    }
  }
}

/// Lines that the registers of a block hold and others, and sums that are cut.
class SameBitsTest : public Int8x6Test, public testing::WithParamInterface<ProductCase> {};

TEST_P(SameBitsTest, AreThoseOfChapter13) {
  ProductCase product = GetParam();
  product.change = {"scaled", scale_lines};
  const HostCase host(product);
  Matrix expected = host.c;
  Matrix c = host.c;
  int8x6().build(Target::for_executor).prepare(host.shape)(host.problem(expected), nullptr);
  int8x6_mma().build(Target::for_executor).prepare(host.shape)(host.problem(c), nullptr);
  for (std::int64_t row = 0; row < product.m; ++row) {
    for (std::int64_t col = 0; col < product.n; ++col) {
      ASSERT_EQ(c.at(row, col), expected.at(row, col)) << row << ' ' << col;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Mma, SameBitsTest,
                         testing::Values(ProductCase{130, 270, 300}, ProductCase{20, 26, 4300, -1.5F, 0.5F}), k_of);
INSTANTIATE_TEST_SUITE_P(LengthyMma, SameBitsTest, testing::Values(ProductCase{3, 5, 44000}), k_of);

}  // namespace
}  // namespace sgemm::test
