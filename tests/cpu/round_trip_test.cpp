// The judge's clock against what a launcher tells, as numbers.

#include "judge/round_trip.hpp"
#include "base/outcome.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sgemm {
namespace {

/// Round trips of samples that take `sample_us` and are told as `told_us`.
std::vector<RoundTrip> trips(double sample_us, double told_us, const std::vector<double>& beside) {
  std::vector<RoundTrip> result;
  for (const double each : beside) {
    result.push_back({sample_us + each, told_us});
  }
  return result;
}

const std::vector<double> USUAL{205, 198, 201, 199, 200, 203, 202};

std::string refusal(const std::vector<RoundTrip>& found, const RoundTripCost& cost) {
  try {
    require_clocks_agree(found, cost);
  } catch (const CaseStopped& stopped) {
    EXPECT_EQ(stopped.outcome(), Outcome::implausible);
    return stopped.what();
  }
  return "";
}

TEST(RoundTripTest, ItsCostIsAMedianThatLateOnesDoNotMove) {
  const RoundTripCost cost = cost_of(trips(3, 3, {200, 201, 202, 199, 198, 200, 1200}));
  EXPECT_EQ(cost.us, 200.0);
  EXPECT_EQ(cost.tolerance_us, LEAST_TOLERANCE_US);
  EXPECT_EQ(cost_of({{210, 10}}).us, 200.0);
}

TEST(RoundTripTest, ItsToleranceFollowsTheSpreadOfTheMiddleHalf) {
  const RoundTripCost cost = cost_of(trips(0, 0, {100, 110, 120, 130, 140, 150, 160, 170}));
  EXPECT_EQ(cost.us, 135.0);
  EXPECT_EQ(cost.tolerance_us, SPREADS * 30.0);
}

TEST(RoundTripTest, HonestSamplesAgree) {
  const RoundTripCost cost = cost_of(trips(3, 3, USUAL));
  const ClockComparison comparison = require_clocks_agree(trips(80, 80, USUAL), cost);
  EXPECT_EQ(comparison.told_us, 80.0);
  EXPECT_EQ(comparison.judged_us, 281.0);
  EXPECT_EQ(comparison.unexplained_us(), 0.0);
}

TEST(RoundTripTest, OneLateSampleIsNoCrimeAndMostAreOne) {
  const RoundTripCost cost = cost_of(trips(3, 3, USUAL));
  EXPECT_EQ(refusal(trips(80, 80, {205, 1198, 201, 199, 700, 203, 202}), cost), "");
  EXPECT_NE(refusal(trips(80, 80, {205, 238, 241, 239, 200, 243, 242}), cost), "");
}

TEST(RoundTripTest, TimeThatIsNotToldIsFound) {
  const RoundTripCost cost = cost_of(trips(3, 3, USUAL));
  const std::string reason = refusal(trips(80, 0.8, USUAL), cost);
  EXPECT_NE(reason.find("the clocks disagree: its process tells of 0.8 us"), std::string::npos) << reason;
  EXPECT_NE(reason.find("work outside"), std::string::npos) << reason;
  // Less than the tolerance can be hidden.
  EXPECT_EQ(refusal(trips(80, 80 - LEAST_TOLERANCE_US + 1, USUAL), cost), "");
  EXPECT_NE(refusal(trips(80, 80 - LEAST_TOLERANCE_US - 4, USUAL), cost), "");
}

TEST(RoundTripTest, LongSamplesMayDifferMore) {
  const RoundTripCost cost = cost_of(trips(3, 3, USUAL));
  EXPECT_EQ(refusal(trips(20000, 19700, USUAL), cost), "");
  EXPECT_NE(refusal(trips(20000, 19000, USUAL), cost), "");
}

/// docs/lab/judge.md: an honest sample of 1902 us was 68 us late in the median, on a host that was slow to wake up.
TEST(RoundTripTest, AThreadMayWakeUpLateAfterMilliseconds) {
  const RoundTripCost cost = cost_of(trips(3, 3, USUAL));
  EXPECT_EQ(refusal(trips(1902 + 68, 1902, USUAL), cost), "");
  EXPECT_NE(refusal(trips(1902 + 130, 1902, USUAL), cost), "");
  EXPECT_EQ(refusal(trips(4000 + LATEST_WAKING_US, 4000, USUAL), cost), "");
  EXPECT_NE(refusal(trips(4000 + LATEST_WAKING_US + 30, 4000, USUAL), cost), "");
}

TEST(RoundTripTest, NoSampleTakesLongerThanAllAroundIt) {
  const RoundTripCost cost = cost_of(trips(3, 3, USUAL));
  std::vector<RoundTrip> found = trips(80, 80, USUAL);
  found[3].told_us = 300;
  EXPECT_NE(refusal(found, cost).find("300 us"), std::string::npos);
}

TEST(RoundTripTest, ATurnIsAsLongAsItsBatches) {
  EXPECT_NO_THROW(require_turn_agrees(1.02, 1.0));
  EXPECT_NO_THROW(require_turn_agrees(10.2, 10.0));
  EXPECT_THROW(require_turn_agrees(1.02, 0.5), CaseStopped);
  EXPECT_THROW(require_turn_agrees(0.9, 1.0), CaseStopped);
}

TEST(RoundTripTest, TheRivalIsAsFastAsBefore) {
  EXPECT_NO_THROW(require_rival_undisturbed(1100.0, 1000.0, 1));
  EXPECT_NO_THROW(require_rival_undisturbed(500.0, 1000.0, 1));
  EXPECT_THROW(require_rival_undisturbed(1400.0, 1000.0, 1), CaseStopped);
}

/// docs/lab/judge.md: cuBLAS took 20.24 us beside a kernel of one block, and 15.43 us alone, in samples of 14 launches.
TEST(RoundTripTest, TheRivalMayBeginLate) {
  EXPECT_NO_THROW(require_rival_undisturbed(20.24, 15.43, 14));
  EXPECT_NO_THROW(require_rival_undisturbed(100.0 + MOST_DELAY_US, 100.0, 1));
  EXPECT_THROW(require_rival_undisturbed(100.0 + MOST_DELAY_US, 100.0, 4), CaseStopped);
}

}  // namespace
}  // namespace sgemm
