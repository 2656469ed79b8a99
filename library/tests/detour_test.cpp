// Which calls of a shape go to cuBLAS because the operands of the last ones were slow.

#include "detour.hpp"
#include "predicted_time.hpp"

#include <gtest/gtest.h>

namespace sgemm::test {
namespace {

/// Calls until one that takes no detour.
int calls_of_detour(Detour& detour) {
  int calls = 0;
  while (detour.next(false)) {
    ++calls;
  }
  return calls;
}

TEST(DetourTest, WithoutSlowCallsThereIsNone) {
  Detour detour;
  for (int call = 0; call < 1000; ++call) {
    EXPECT_FALSE(detour.next(false));
  }
}

TEST(DetourTest, ASlowCallLeadsToOneAndOneTrial) {
  Detour detour;
  EXPECT_TRUE(detour.next(true));
  EXPECT_EQ(calls_of_detour(detour), Detour::SHORTEST - 1);  // and the trial, of which nothing is known yet
  EXPECT_EQ(calls_of_detour(detour), Detour::SHORTEST);
  for (int call = 0; call < 1000; ++call) {
    EXPECT_FALSE(detour.next(false)) << "the trial went well";
  }
}

TEST(DetourTest, BadTrialsMakeItLongerUpToALimit) {
  Detour detour;
  int length = Detour::SHORTEST;
  for (int trial = 0; trial < 20; ++trial) {
    EXPECT_TRUE(detour.next(true));
    EXPECT_EQ(calls_of_detour(detour), length - 1) << trial;
    length = length < Detour::LONGEST ? 2 * length : length;
  }
}

/// The GPU may tell of a trial in the middle of the detour behind it.
TEST(DetourTest, ABadTrialIsHeardOfLate) {
  Detour detour;
  detour.next(true);
  calls_of_detour(detour);
  EXPECT_TRUE(detour.next(false));
  EXPECT_TRUE(detour.next(true));
  EXPECT_EQ(calls_of_detour(detour), 2 * Detour::SHORTEST - 1);
}

/// Operands that are always slow cost as much as cuBLAS, and a trial now and then.
TEST(DetourTest, TrialsAreFew) {
  Detour detour;
  int trials = 0;
  bool slow = false;
  for (int call = 0; call < 10000; ++call) {
    slow = !detour.next(slow);
    trials += slow ? 1 : 0;
  }
  EXPECT_LT(trials, 60);
}

/// docs/lab/libsgemm.md: a single row at 2048 makes 425 us of 160, and at 4096 1712 of 1082, where cuBLAS takes 2675.
TEST(DetourTest, TheTimeOfPassesIsAboutWhatWasMeasured) {
  EXPECT_NEAR(recomputed_microseconds({2048, 2048, 2048, 132}, 16), 265, 50);
  EXPECT_NEAR(recomputed_microseconds({4096, 4096, 4096, 132}, 32), 630, 80);
  EXPECT_EQ(recomputed_microseconds({4096, 4096, 4096, 132}, 0), 0);
  EXPECT_GT(recomputed_microseconds({4096, 4096, 4096, 132}, 2048), 4000) << "all of C";
}

}  // namespace
}  // namespace sgemm::test
