#include "decision.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace drop_in {
namespace {

sgemm_plan_t plan_of(const char* kernel) {
  sgemm_plan_t plan{};
  std::strcpy(plan.kernel, kernel);
  std::strcpy(plan.reason, "the plan's reason");
  plan.predicted_us = 30;
  plan.cublas_us = 20;
  plan.workspace_bytes = 50;
  return plan;
}

TEST(DecisionTest, AProductFollowsThePlan) {
  const Decision chapter = decide(plan_of("11_bf16x6"));
  EXPECT_TRUE(chapter.by_library);
  EXPECT_EQ(chapter.by, "11_bf16x6");
  EXPECT_EQ(chapter.why, "the plan's reason");
  EXPECT_EQ(chapter.workspace_bytes, 50);
  EXPECT_EQ(chapter.prediction.us, 30);
  EXPECT_EQ(chapter.prediction.cublas_us, 20);

  for (const char* kernel : {"cublas", "none"}) {
    const Decision cublas = decide(plan_of(kernel));
    EXPECT_FALSE(cublas.by_library);
    EXPECT_EQ(cublas.by, "cublas");
    EXPECT_EQ(cublas.why, "the plan's reason");
  }
}

}  // namespace
}  // namespace drop_in
