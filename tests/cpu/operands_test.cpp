#include "operands.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sgemm {
namespace {

Problem shape(std::int64_t m, std::int64_t n, std::int64_t k, float beta) {
  Problem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.beta = beta;
  return problem;
}

struct Moments {
  double mean = 0.0;
  double variance = 0.0;
};

Moments moments(const std::vector<float>& values) {
  Moments result;
  for (const float value : values) {
    result.mean += value;
    result.variance += static_cast<double>(value) * value;
  }
  result.mean /= static_cast<double>(values.size());
  result.variance = result.variance / static_cast<double>(values.size()) - result.mean * result.mean;
  return result;
}

TEST(OperandsTest, HaveTheShapesOfTheProblem) {
  const HostOperands operands = make_operands(shape(3, 5, 7, 1.0F), Distribution::uniform, 1);
  EXPECT_EQ(operands.a.size(), 21U);
  EXPECT_EQ(operands.b.size(), 35U);
  EXPECT_EQ(operands.c0.size(), 15U);
}

TEST(OperandsTest, LeaveOutWhatIsNotRead) {
  EXPECT_TRUE(make_operands(shape(3, 5, 7, 0.0F), Distribution::uniform, 1).c0.empty());
  EXPECT_TRUE(make_operands(shape(3, 5, 0, 0.0F), Distribution::uniform, 1).a.empty());
}

TEST(OperandsTest, UniformIsInsideTheOpenInterval) {
  const std::vector<float> values = make_operands(shape(1000, 1, 1000, 0.0F), Distribution::uniform, 1).a;
  EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](float x) { return x > -1.0F && x < 1.0F && x != 0.0F; }));
  const Moments found = moments(values);
  EXPECT_NEAR(found.mean, 0.0, 0.003);
  EXPECT_NEAR(found.variance, 1.0 / 3.0, 0.002);
}

TEST(OperandsTest, NormalHasTheMomentsAndTailsOfTheNormalDistribution) {
  const std::vector<float> values = make_operands(shape(1000, 1, 1000, 0.0F), Distribution::normal, 1).a;
  const Moments found = moments(values);
  EXPECT_NEAR(found.mean, 0.0, 0.005);
  EXPECT_NEAR(found.variance, 1.0, 0.007);
  const auto beyond_two = std::count_if(values.begin(), values.end(), [](float x) { return std::fabs(x) > 2.0F; });
  EXPECT_NEAR(static_cast<double>(beyond_two) / 1e6, 0.0455, 0.001);
  double neighbours = 0.0;
  for (std::size_t i = 0; i + 1 < values.size(); i += 2) {
    neighbours += static_cast<double>(values[i]) * values[i + 1];
  }
  EXPECT_NEAR(neighbours / 5e5, 0.0, 0.007);
}

TEST(OperandsTest, ZerosAreZero) {
  const HostOperands operands = make_operands(shape(9, 9, 9, 1.0F), Distribution::zeros, 1);
  for (const auto* matrix : {&operands.a, &operands.b, &operands.c0}) {
    EXPECT_TRUE(std::all_of(matrix->begin(), matrix->end(), [](float x) { return x == 0.0F; }));
  }
}

TEST(OperandsTest, DependOnSeedAndMatrix) {
  const HostOperands first = make_operands(shape(8, 8, 8, 1.0F), Distribution::uniform, 1);
  EXPECT_EQ(first.a, make_operands(shape(8, 8, 8, 1.0F), Distribution::uniform, 1).a);
  EXPECT_NE(first.a, make_operands(shape(8, 8, 8, 1.0F), Distribution::uniform, 2).a);
  EXPECT_NE(first.a, first.b);
  EXPECT_NE(first.a, first.c0);
  EXPECT_NE(first.b, first.c0);
}

// A small matrix is filled by one thread and a large one by all, yet elements of the same index are the same.
TEST(OperandsTest, AreTheSameForAnyNumberOfThreads) {
  for (const Distribution distribution : {Distribution::uniform, Distribution::normal}) {
    const std::vector<float> small = make_operands(shape(1, 1, 60001, 0.0F), distribution, 7).a;
    const std::vector<float> large = make_operands(shape(1, 1, 3000003, 0.0F), distribution, 7).a;
    EXPECT_TRUE(std::equal(small.begin(), small.end(), large.begin()));
    // The last share is not filled by the first thread; a matrix one longer than it moves all boundaries.
    const std::vector<float> longer = make_operands(shape(1, 1, 3000104, 0.0F), distribution, 7).a;
    EXPECT_TRUE(std::equal(large.begin(), large.end(), longer.begin()));
  }
}

TEST(OperandsTest, AreTheSameOnEveryMachine) {
  const HostOperands operands = make_operands(shape(1, 1, 2, 0.0F), Distribution::uniform, 1);
  EXPECT_EQ(operands.a, (std::vector<float>{0x1.54566ep-1F, 0x1.3ad238p-3F}));
  EXPECT_EQ(operands.b, (std::vector<float>{0x1.9a39bep-1F, -0x1.c2449cp-2F}));
}

TEST(OperandsTest, DistributionsHaveNames) {
  EXPECT_EQ(to_string(Distribution::uniform), "uniform");
  EXPECT_EQ(to_string(Distribution::normal), "normal");
  EXPECT_EQ(to_string(Distribution::zeros), "zeros");
}

}  // namespace
}  // namespace sgemm
