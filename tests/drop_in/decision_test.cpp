#include "decision.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace drop_in {
namespace {

sgemm_plan_t plan_of(const char* kernel, double predicted_us, double cublas_us) {
  sgemm_plan_t plan{};
  std::strcpy(plan.kernel, kernel);
  std::strcpy(plan.reason, "the plan's reason");
  plan.predicted_us = predicted_us;
  plan.cublas_us = cublas_us;
  return plan;
}

const float kBias = 0;
const Epilogue kWithBias{Activation::none, &kBias, nullptr, 0};

TEST(DecisionTest, APlainProductFollowsThePlan) {
  const Decision chapter = decide(plan_of("11_bf16x6", 30, 20), {}, 0);
  EXPECT_TRUE(chapter.by_library);
  EXPECT_EQ(chapter.by, "11_bf16x6");
  EXPECT_EQ(chapter.why, "the plan's reason");

  for (const char* kernel : {"cublas", "none"}) {
    const Decision cublas = decide(plan_of(kernel, 20, 20), {}, 0);
    EXPECT_FALSE(cublas.by_library);
    EXPECT_EQ(cublas.by, "cublas");
    EXPECT_EQ(cublas.why, "the plan's reason");
  }
}

TEST(DecisionTest, TheEpilogueMayNotEatUpTheGain) {
  const Decision gains = decide(plan_of("11_bf16x6", 100, 120), kWithBias, 19);
  EXPECT_TRUE(gains.by_library);
  EXPECT_EQ(gains.why, "predicted 100 us and 19 us for the epilogue, cuBLAS 120 us");

  const Decision loses = decide(plan_of("11_bf16x6", 100, 120), kWithBias, 21);
  EXPECT_FALSE(loses.by_library);
  EXPECT_EQ(loses.by, "cublas");
  EXPECT_EQ(loses.why, "predicted 100 us and 21 us for the epilogue, cuBLAS 120 us");
}

TEST(DecisionTest, WithoutAPredictionAnEpilogueIsCublasWork) {
  EXPECT_FALSE(decide(plan_of("11_bf16x6", 0, 0), kWithBias, 5).by_library);
}

TEST(EpilogueTimeTest, IsThatOfItsTraffic) {
  EXPECT_EQ(epilogue_us({}, 1000, 1000, 1e6), 0);
  // 8 MB at 80 % of 1e6 bytes/us, and a launch.
  EXPECT_DOUBLE_EQ(epilogue_us(kWithBias, 1000, 1000, 1e6), 3 + 10);
  float argument = 0;
  EXPECT_DOUBLE_EQ(epilogue_us({Activation::gelu, nullptr, &argument, 1000}, 1000, 1000, 1e6), 3 + 15);
}

}  // namespace
}  // namespace drop_in
