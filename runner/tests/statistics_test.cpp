#include "base/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <vector>

namespace sgemm {
namespace {

std::vector<double> one_to(int n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

TEST(Statistics, MedianOfOddAndEvenCounts) {
  EXPECT_DOUBLE_EQ(median({5.0}), 5.0);
  EXPECT_DOUBLE_EQ(median({3.0, 1.0, 2.0}), 2.0);
  EXPECT_DOUBLE_EQ(median({4.0, 1.0, 3.0, 2.0}), 2.5);
}

TEST(Statistics, IntervalSpansAllSamplesWhileTheyAreTooFew) {
  for (int n = 1; n <= 5; ++n) {
    const Interval interval = summarize(one_to(n), 0.95).ci;
    EXPECT_DOUBLE_EQ(interval.low, 1.0) << n;
    EXPECT_DOUBLE_EQ(interval.high, n) << n;
  }
}

// Ranks from published tables of the binomial confidence interval for a median at 95 %.
TEST(Statistics, IntervalHasTheRanksOfTheBinomialTables) {
  struct Row {
    int n;
    double low;
  };
  for (const Row& row :
       {Row{6, 1}, Row{8, 1}, Row{9, 2}, Row{12, 3}, Row{20, 6}, Row{30, 10}, Row{50, 18}, Row{100, 40}}) {
    const Interval interval = summarize(one_to(row.n), 0.95).ci;
    EXPECT_DOUBLE_EQ(interval.low, row.low) << row.n;
    EXPECT_DOUBLE_EQ(interval.high, row.n + 1 - row.low) << row.n;
  }
}

TEST(Statistics, IntervalOfManySamplesDoesNotUnderflow) {
  const Interval interval = summarize(one_to(10000), 0.95).ci;
  EXPECT_NEAR(interval.low, 5000.0 - 98.0, 2.0);  // 1.96 sqrt(n) / 2
  EXPECT_NEAR(interval.high, 5001.0 + 98.0, 2.0);
}

TEST(Statistics, IntervalCoversTheMedianAsOftenAsItSays) {
  std::mt19937 random(1);
  std::exponential_distribution<double> skewed(1.0);
  const double true_median = std::log(2.0);
  int covered = 0;
  constexpr int TRIALS = 4000;
  for (int trial = 0; trial < TRIALS; ++trial) {
    std::vector<double> values(25);
    for (double& value : values) {
      value = skewed(random);
    }
    const Interval interval = summarize(values, 0.95).ci;
    covered += interval.low <= true_median && true_median <= interval.high ? 1 : 0;
  }
  EXPECT_GT(covered, TRIALS * 0.945);
}

TEST(Statistics, Summary) {
  const Summary summary = summarize({2.0, 4.0, 9.0}, 0.95);
  EXPECT_DOUBLE_EQ(summary.median, 4.0);
  EXPECT_DOUBLE_EQ(summary.min, 2.0);
  EXPECT_DOUBLE_EQ(summary.max, 9.0);
  EXPECT_DOUBLE_EQ(summary.mean, 5.0);
  EXPECT_NEAR(summary.stddev, 3.6055512754639896, 1e-12);
  EXPECT_DOUBLE_EQ(summary.spread(), 7.0 / 2.0 / 4.0);
  EXPECT_DOUBLE_EQ(summarize({7.0}, 0.95).stddev, 0.0);
}

}  // namespace
}  // namespace sgemm
