// The judge's check of results by random signs, and its secrets.

#include "base/kernel.hpp"
#include "base/usage_error.hpp"
#include "judge/hidden.hpp"
#include "judge/projection.hpp"
#include "problem/operands.hpp"
#include "verify/verify_parts.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace sgemm {
namespace {

constexpr Shape SHAPE{48, 96, 160, 1.5F, -0.5F};

/// The product with sums in order in single precision, of operands of which so many bits are kept.
std::vector<float> product(HostOperands operands, std::uint32_t kept_bits = 0xFFFFFFFFU) {
  for (std::vector<float>* const matrix : {&operands.a, &operands.b}) {
    for (float& value : *matrix) {
      value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & kept_bits);
    }
  }
  const Problem p = packed(SHAPE, operands.a.data(), operands.b.data(), operands.c0.data());
  find_kernel("cpu_naive")->build(Target::for_host).prepare(p)(p, nullptr);
  return operands.c0;
}

/// What the witness does on the device, in order.
class HostWitness {
 public:
  HostWitness(const HostOperands& operands, std::uint64_t signs) : random_(signs, RandomStream::judge) {
    for (std::int64_t k = 0; k < SHAPE.k; ++k) {
      const RowOfSigns row = signed_row(operands.b, k);
      factors_.push_back({row.sum, std::sqrt(row.squares), row.largest});
    }
    for (std::int64_t i = 0; i < SHAPE.m; ++i) {
      Expectation row;
      for (std::int64_t k = 0; k < SHAPE.k; ++k) {
        row.add(operands.a[static_cast<std::size_t>(i * SHAPE.k + k)], factors_[static_cast<std::size_t>(k)]);
      }
      expected_.push_back(row);
      c0_.push_back(signed_row(operands.c0, i));
    }
  }

  /// Wrong rows, and the relative error of all.
  std::pair<std::set<std::int64_t>, double> look(const std::vector<float>& c, AccuracyClass accuracy) const {
    const RowRule rule{SHAPE.alpha, SHAPE.beta, static_cast<double>(SHAPE.n),
                       error_bound(accuracy, SHAPE.k, SHAPE.alpha, Roundings::independent)};
    std::set<std::int64_t> wrong;
    double errors = 0.0;
    double values = 0.0;
    for (std::int64_t i = 0; i < SHAPE.m; ++i) {
      const auto row = static_cast<std::size_t>(i);
      const double found = signed_row(c, i).sum;
      const double error = found - rule.expected(expected_[row], c0_[row]);
      if (!(std::fabs(error) <= rule.allowed(expected_[row], c0_[row]))) {
        wrong.insert(i);
      }
      errors += error * error;
      values += found * found;
    }
    return {wrong, std::sqrt(errors / values)};
  }

 private:
  RowOfSigns signed_row(const std::vector<float>& matrix, std::int64_t row) const {
    RowOfSigns sum;
    for (std::int64_t j = 0; j < SHAPE.n; ++j) {
      sum.add(signs_of_64(random_, j), j, matrix[static_cast<std::size_t>(row * SHAPE.n + j)]);
    }
    return sum;
  }

  CounterRandom random_;
  std::vector<Factor> factors_;
  std::vector<Expectation> expected_;
  std::vector<RowOfSigns> c0_;
};

using Rows = std::set<std::int64_t>;

class WitnessTest : public testing::TestWithParam<Distribution> {
 protected:
  const HostOperands operands_ = make_operands(SHAPE, GetParam(), 7);
  const HostWitness witness_{operands_, 11};
  std::vector<float> c_ = product(operands_);

  Rows wrong(AccuracyClass accuracy = AccuracyClass::fp32) const { return witness_.look(c_, accuracy).first; }
};

TEST_P(WitnessTest, RightResultsAreRightUnderAllSigns) {
  for (std::uint64_t signs = 0; signs < 50; ++signs) {
    const auto [rows, error] = HostWitness(operands_, signs).look(c_, AccuracyClass::fp32);
    EXPECT_EQ(rows, Rows{});
    EXPECT_LT(error, 5e-6);
  }
}

TEST_P(WitnessTest, ARowThatWasNotWrittenIsWrong) {
  for (std::int64_t j = 0; j < SHAPE.n; ++j) {
    c_[static_cast<std::size_t>(5 * SHAPE.n + j)] = operands_.c0[static_cast<std::size_t>(5 * SHAPE.n + j)];
  }
  EXPECT_EQ(wrong(), Rows{5});
}

TEST_P(WitnessTest, AnElementIsEnough) {
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 0.0F}) {
    c_[static_cast<std::size_t>(9 * SHAPE.n + 3)] = value;
    EXPECT_EQ(wrong(), Rows{9}) << value;
  }
}

TEST_P(WitnessTest, ErrorsThatCancelInTheSumOfARowAreSeen) {
  // Between them they leave the sum of the row as it is; signs differ for one of these pairs at least.
  for (std::int64_t j = 0; j < SHAPE.n; j += 2) {
    c_[static_cast<std::size_t>(2 * SHAPE.n + j)] += 0.5F;
    c_[static_cast<std::size_t>(2 * SHAPE.n + j + 1)] -= 0.5F;
  }
  EXPECT_EQ(wrong(), Rows{2});
}

TEST_P(WitnessTest, ResultsOfOtherOperandsAreWrong) {
  c_ = product(make_operands(SHAPE, GetParam(), 8));
  EXPECT_EQ(wrong().size(), static_cast<std::size_t>(SHAPE.m));
  EXPECT_EQ(wrong(AccuracyClass::fp16_split).size(), static_cast<std::size_t>(SHAPE.m));
}

INSTANTIATE_TEST_SUITE_P(Kinds, WitnessTest,
                         testing::Values(Distribution::uniform, Distribution::normal, Distribution::lognormal1));

TEST(Witness, FewerBitsShowInTheErrorOfAllRows) {
  const HostOperands operands = make_operands(SHAPE, Distribution::uniform, 7);
  const HostWitness witness(operands, 11);
  const double right = witness.look(product(operands), AccuracyClass::fp32).second;
  const double tf32 = witness.look(product(operands, 0xFFFFE000U), AccuracyClass::fp32).second;
  EXPECT_GT(tf32, 100.0 * right);
}

TEST(Secret, IsOfTheSystemAndCanBeGivenAgain) {
  const Secret secret = Secret::draw();
  EXPECT_NE(secret, Secret::draw());
  EXPECT_EQ(secret.text().size(), 32U);
  EXPECT_EQ(Secret::parse(secret.text()), secret);
  EXPECT_EQ(Secret::parse(secret.text()).seed(5), secret.seed(5));
  for (const std::string text : {"", "1", "0123456789abcdef0123456789abcdeg", "0x23456789abcdef0123456789abcdef"}) {
    EXPECT_THROW(Secret::parse(text), UsageError) << text;
  }
}

TEST(Secret, BothHalvesEnterIntoEachSeed) {
  const Secret secret = Secret::parse("0123456789abcdef0123456789abcdef");
  std::set<std::uint64_t> seeds;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    seeds.insert(secret.seed(i));
    EXPECT_NE(secret.seed(i), Secret::parse("1123456789abcdef0123456789abcdef").seed(i));
    EXPECT_NE(secret.seed(i), Secret::parse("0123456789abcdef1123456789abcdef").seed(i));
  }
  EXPECT_EQ(seeds.size(), 1000U);
}

}  // namespace
}  // namespace sgemm
