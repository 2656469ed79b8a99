// Chapters 13, 17 and 19 on the executor against the exact sums of the same digits, how large the errors are, and sums
// that are too long for INT32.

#include "base/kernel.hpp"
#include "fixtures/reference_case.hpp"
#include "fixtures/same_bits.hpp"
#include "fixtures/tested_kernel.hpp"
#include "problem/operands.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace sgemm::test {
namespace {

constexpr std::array ON_INT8{"13_int8x6", "17_int8x6_mma", "19_int8x5"};

const Kernel& int8x6() { return *find_kernel(ON_INT8[0]); }
const Kernel& int8x6_mma() { return *find_kernel(ON_INT8[1]); }
const Kernel& int8x5() { return *find_kernel(ON_INT8[2]); }

class Int8x6Test : public testing::Test {
 protected:
  void SetUp() override {
    for (const std::string_view id : ON_INT8) {
      if (!find_kernel(id) || !find_kernel(id)->build(Target::for_executor)) {
        GTEST_SKIP() << "this build has no " << id << " for the executor";
      }
    }
  }
};

Matrix result_of(const Kernel& kernel, const HostCase& host) {
  return host.result_of(kernel.build(Target::for_executor).prepare(host.shape));
}

/// Gives rows and columns scales of their own, most of them by a single number.
void scale_lines(HostCase& host) {
  host.a.scale([](auto i, auto) { return static_cast<int>(i * 7 % 41) - 20; });
  host.b.scale([](auto, auto j) { return static_cast<int>(j * 5 % 19) - 9; });
  for (std::int64_t i = 0; i < host.a.rows(); ++i) {
    float& large = host.a.at(i, i * 1031 % host.a.cols());
    large = std::ldexp(large, 6);
  }
  for (std::int64_t j = 0; j < host.b.cols(); ++j) {
    float& large = host.b.at(j * 1031 % host.b.rows(), j);
    large = std::ldexp(large, 6);
  }
}

HostCase with_scaled_lines(ProductCase product) {
  product.change = {"scaled", scale_lines};
  return HostCase(product);
}

std::string k_of(const testing::TestParamInfo<ProductCase>& info) { return std::to_string(info.param.k); }

/// By K: numbers of a line that are all in registers, or in shared memory too, or read twice.
class Int8x6LinesTest : public Int8x6Test, public testing::WithParamInterface<ProductCase> {};

TEST_P(Int8x6LinesTest, IsTheRoundedSumOfSixProductsOfDigits) {
  const HostCase host = with_scaled_lines(GetParam());
  Matrix defined = defined_result(host);
  Matrix c = result_of(int8x6(), host);
  for (std::int64_t row = 0; row < c.rows(); ++row) {
    for (std::int64_t col = 0; col < c.cols(); ++col) {
      // Sums are rounded twice, and those of the definition once.
      ASSERT_NEAR(c.at(row, col), defined.at(row, col), 0x1.8p-23 * std::fabs(defined.at(row, col)))
          << row << ' ' << col;
    }
  }
}

/// A line's digits as the page of chapter 19 defines them.
class FiveDigits {
 public:
  FiveDigits(const float* first, std::int64_t stride, std::int64_t k) {
    float largest = 0.0F;
    for (std::int64_t p = 0; p < k; ++p) {
      largest = std::max(largest, std::fabs(first[p * stride]));
    }
    unit = largest / 127.0F;
    const float scale = 0x1p15F / unit;
    for (std::int64_t p = 0; p < k; ++p) {
      const double x = first[p * stride];
      const auto all = static_cast<std::int64_t>(std::nearbyint(x * scale));
      const auto d1 = static_cast<std::int64_t>(std::nearbyint(x * (scale / (127.5F * 256))));
      const std::int64_t d3 = ((all + 128) & 255) - 128;
      const std::int64_t d2 = (all - d3) / 256 - 128 * d1;
      for (const std::int64_t digit : {d1, d2, d3, d1 + d2}) {
        EXPECT_TRUE(-128 <= digit && digit <= 127) << x;
      }
      digits.push_back({d1, d2, d3});
    }
  }

  float unit = 0.0F;
  std::vector<std::array<std::int64_t, 3>> digits;
};

TEST_P(Int8x6LinesTest, IsTheSumOfFiveProductsOfDigits) {
  const HostCase host = with_scaled_lines(GetParam());
  Matrix c = result_of(int8x5(), host);
  std::vector<FiveDigits> columns;
  for (std::int64_t col = 0; col < c.cols(); ++col) {
    columns.emplace_back(host.b.data() + col, host.b.ld(), host.b.rows());
  }
  for (std::int64_t row = 0; row < c.rows(); ++row) {
    const FiveDigits a(host.a.data() + row * host.a.ld(), 1, host.a.cols());
    for (std::int64_t col = 0; col < c.cols(); ++col) {
      const FiveDigits& b = columns[static_cast<std::size_t>(col)];
      std::int64_t sum = 0;
      for (std::size_t p = 0; p < a.digits.size(); ++p) {
        const auto& [d1, d2, d3] = a.digits[p];
        const auto& [e1, e2, e3] = b.digits[p];
        sum += ((d1 * 128 + d2) * (e1 * 128 + e2) * 2) + d1 * e3 + d3 * e1;
      }
      const double units = double{a.unit} * b.unit;
      const double defined = 0x1p-15 * static_cast<double>(sum) * units;
      ASSERT_NEAR(c.at(row, col), defined, 0x1p-21 * std::fabs(defined) + 0x1p-15 * units) << row << ' ' << col;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(LinesOfABlock, Int8x6LinesTest,
                         testing::Values(ProductCase{70, 140, 300}, ProductCase{20, 26, 1100},
                                         ProductCase{20, 26, 2048}, ProductCase{20, 26, 4300},
                                         ProductCase{5, 7, 16500}),
                         k_of);

/// Simulated errors, with a tenth more for chance. Products of fewer digits, or digits of 7 bits, have far larger ones.
TEST_F(Int8x6Test, ErrorsAreTheSimulatedOnes) {
  struct Case {
    const Kernel& kernel;
    Distribution data;
    double largest;
  };
  for (const Case& of :
       {Case{int8x6(), Distribution::uniform, 3.2e-7}, Case{int8x6(), Distribution::uniform01, 4.2e-8},
        Case{int8x6(), Distribution::normal, 6.5e-7}, Case{int8x6(), Distribution::lognormal1, 8.0e-7},
        Case{int8x5(), Distribution::uniform, 3.3e-7}, Case{int8x5(), Distribution::uniform01, 8.0e-8},
        Case{int8x5(), Distribution::normal, 7.6e-7}, Case{int8x5(), Distribution::lognormal1, 8.0e-7}}) {
    HostCase host({130, 140, 256});
    const HostOperands operands = make_operands(host.shape, of.data, HostCase::SEED);
    host.a.assign(operands.a);
    host.b.assign(operands.b);
    const Verdict verdict =
        ReferenceCase(host).run(of.kernel.build(Target::for_executor).prepare(host.shape), of.kernel.accuracy);
    EXPECT_TRUE(verdict.correct()) << verdict.describe();
    EXPECT_LT(verdict.rel_err(), of.largest) << of.kernel.id() << ' ' << to_string(of.data);
    EXPECT_GT(verdict.rel_err(), 0.4 * of.largest) << of.kernel.id() << ' ' << to_string(of.data);
  }
}

/// Numbers of 2^-62 have products that are normal floats, and units whose product is none.
TEST_F(Int8x6Test, ProductsOfSmallNumbersKeepTheirDigits) {
  const auto product_of = [](const Kernel& kernel, int exponent) {
    HostCase host({9, 11, 70});
    for (Matrix* const operand : {&host.a, &host.b}) {
      operand->scale([=](auto, auto) { return exponent; });
    }
    return result_of(kernel, host);
  };
  for (const Kernel* const kernel : {&int8x6(), &int8x5()}) {
    Matrix small = product_of(*kernel, -62);
    Matrix large = product_of(*kernel, 0);
    for (std::int64_t i = 0; i < 9 * 11; ++i) {
      EXPECT_NEAR(small.at(i / 11, i % 11), std::ldexp(static_cast<double>(large.at(i / 11, i % 11)), -124), 0x1p-140)
          << kernel->id() << ' ' << i;
    }
  }
}

using LengthyInt8x6Test = Int8x6Test;

/// A row by two columns of k times the same number.
HostCase with_long_sums(float number, std::int64_t k) {
  HostCase host({1, 2, k});
  host.a.fill(number);
  host.b.fill(number);
  return host;
}

/// A second launch finds the workspace as the first has left it.
void expect_sums(const Kernel& kernel, const HostCase& host, double expected) {
  const Prepared prepared = kernel.build(Target::for_executor).prepare(host.shape);
  for (int launch = 0; launch < 2; ++launch) {
    Matrix c = host.result_of(prepared);
    for (const std::int64_t col : {0, 1}) {
      EXPECT_NEAR(c.at(0, col), expected, 1e-6 * expected) << kernel.id();
    }
  }
}

/// The digits are -126, -128 and -128 everywhere, so that the sum of three products passes 2^31 at k = 44151.
TEST_F(LengthyInt8x6Test, SumsThatInt32CouldNotHoldAreCut) {
  constexpr float NUMBER = -8290432.0F;
  for (const Kernel* const kernel : {&int8x6(), &int8x6_mma()}) {
    expect_sums(*kernel, with_long_sums(NUMBER, 44500), 44500.0 * NUMBER * NUMBER);
  }
}

/// Where the largest number is 127, the digits of the others are -127, 1 and -128, so that the sum of products of a
/// first and a third digit passes 2^31 at k = 66053.
TEST_F(LengthyInt8x6Test, SumsOf19ThatInt32CouldNotHoldAreCut) {
  constexpr float NUMBER = -4161408.0F / 32768;
  HostCase host = with_long_sums(NUMBER, 66304);
  for (const std::int64_t k : {0, 66300}) {  // in both pieces
    host.a.at(0, k) = host.b.at(k, 0) = host.b.at(k, 1) = 127.0F;
  }
  expect_sums(int8x5(), host, 66302.0 * NUMBER * NUMBER + 2 * 127.0 * 127.0);
}

/// Lines that the registers of a block hold and others, and sums that are cut.
class SameBitsTest : public Int8x6Test, public testing::WithParamInterface<ProductCase> {};

TEST_P(SameBitsTest, AreThoseOfChapter13) {
  const HostCase host = with_scaled_lines(GetParam());
  EXPECT_TRUE(same_bits(result_of(int8x6_mma(), host), result_of(int8x6(), host)));
}

INSTANTIATE_TEST_SUITE_P(Mma, SameBitsTest,
                         testing::Values(ProductCase{130, 270, 300}, ProductCase{20, 26, 4300, -1.5F, 0.5F}), k_of);
INSTANTIATE_TEST_SUITE_P(LengthyMma, SameBitsTest, testing::Values(ProductCase{3, 5, 44000}), k_of);

}  // namespace
}  // namespace sgemm::test
