#include "verify/accuracy.hpp"

#include "base/outcome.hpp"
#include "fake_kernels.hpp"
#include "record/record.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace sgemm {
namespace {

constexpr Size SIZE{64, 64, 64};

Record record_of(AccuracyClass accuracy, std::optional<Distribution> data) {
  Kernel kernel = fake_kernel(1, "naive");
  kernel.accuracy = accuracy;
  return Record({&kernel, SIZE, data});
}

Verdict verdict_with(std::int64_t wrong) {
  Verdict verdict;
  verdict.compared = 4096;
  verdict.wrong = wrong;
  verdict.rel_err = 1e-3;
  verdict.max_bound_ratio = wrong > 0 ? 7.0 : 0.7;
  return verdict;
}

TEST(Accuracy, OnlyDenormalsAreMoreThanTf32Promises) {
  for (const Distribution data : DISTRIBUTIONS) {
    EXPECT_TRUE(promises(AccuracyClass::fp32, data)) << to_string(data);
    EXPECT_EQ(promises(AccuracyClass::tf32, data), data != Distribution::denormals) << to_string(data);
    EXPECT_EQ(promises(AccuracyClass::fp32_split, data), data != Distribution::denormals) << to_string(data);
  }
}

TEST(Accuracy, OnlyNumbersOfManyDecadesAreMoreThanScaledFp16Promises) {
  for (const Distribution data : DISTRIBUTIONS) {
    EXPECT_TRUE(promises(AccuracyClass::bf16_split, data)) << to_string(data);
    EXPECT_TRUE(promises(AccuracyClass::int8_split, data)) << to_string(data);
    EXPECT_EQ(promises(AccuracyClass::fp16_split, data), data != Distribution::lognormal4) << to_string(data);
  }
}

TEST(Accuracy, StrassenPromisesNothingWhereRowsDifferInScaleOrAreNotFinite) {
  for (const Distribution data : {Distribution::uniform, Distribution::uniform01, Distribution::normal,
                                  Distribution::lognormal1, Distribution::integers, Distribution::cancelling}) {
    EXPECT_TRUE(promises(AccuracyClass::fp32_strassen, data)) << to_string(data);
  }
  for (const Distribution data : {Distribution::lognormal4, Distribution::huge, Distribution::inf, Distribution::nan,
                                  Distribution::rank_one, Distribution::outliers, Distribution::huge_row}) {
    EXPECT_FALSE(promises(AccuracyClass::fp32_strassen, data)) << to_string(data);
  }
}

TEST(Accuracy, RoundingsAverageOutButForVeryDifferentTerms) {
  EXPECT_EQ(std::count_if(DISTRIBUTIONS.begin(), DISTRIBUTIONS.end(),
                          [](Distribution data) { return roundings_of(data) == Roundings::any; }),
            1);
  EXPECT_EQ(roundings_of(Distribution::lognormal4), Roundings::any);
}

TEST(Judge, ErrorInsideTheBoundIsRecorded) {
  Record record = record_of(AccuracyClass::fp32, Distribution::normal);
  record.judge(verdict_with(0), "");
  EXPECT_TRUE(record.verified);
  EXPECT_EQ(record.rel_err, 1e-3);
  EXPECT_EQ(record.max_bound_ratio, 0.7);
  EXPECT_TRUE(record.errors->promised);
  EXPECT_FALSE(record.errors->vs_cublas);
  Record timed = record_of(AccuracyClass::fp32, std::nullopt);
  timed.judge(verdict_with(0), "");
  EXPECT_TRUE(timed.verified);
  EXPECT_FALSE(timed.errors);
}

TEST(Judge, ErrorBeyondAPromisedBoundIsIncorrect) {
  for (const std::optional<Distribution> data : {std::optional<Distribution>(), {Distribution::denormals}}) {
    Record record = record_of(AccuracyClass::fp32, data);
    try {
      record.judge(verdict_with(3), "after timing: ");
      FAIL() << "a wrong result passed";
    } catch (const CaseStopped& stopped) {
      EXPECT_EQ(stopped.outcome(), Outcome::incorrect);
      EXPECT_EQ(std::string(stopped.what()).rfind("after timing: 3 of 4096 elements wrong", 0), 0U) << stopped.what();
    }
    EXPECT_FALSE(record.verified);
    EXPECT_EQ(record.max_bound_ratio, 7.0);
  }
}

TEST(Judge, ErrorBeyondABoundThatIsNotPromisedIsReportedAndNotVerified) {
  for (const auto& [accuracy, data] : {std::pair(AccuracyClass::tf32, Distribution::denormals),
                                       std::pair(AccuracyClass::fp16_split, Distribution::lognormal4)}) {
    SCOPED_TRACE(to_string(accuracy));
    Record record = record_of(accuracy, data);
    record.judge(verdict_with(3), "");
    EXPECT_FALSE(record.verified);
    EXPECT_FALSE(record.errors->promised);
    EXPECT_EQ(record.errors->verdict.wrong, 3);
    record.judge(verdict_with(0), "");
    EXPECT_TRUE(record.verified) << "inside the bound all the same";
    Record timed = record_of(accuracy, std::nullopt);
    EXPECT_THROW(timed.judge(verdict_with(3), ""), CaseStopped) << "what is timed has to be right";
  }
  Record bf16 = record_of(AccuracyClass::bf16_split, Distribution::lognormal4);
  EXPECT_THROW(bf16.judge(verdict_with(3), ""), CaseStopped);
}

}  // namespace
}  // namespace sgemm
