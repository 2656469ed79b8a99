#include "verify/accuracy.hpp"

#include "base/outcome.hpp"
#include "cli/values.hpp"
#include "fake_kernels.hpp"
#include "record/record.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

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

/// docs/accuracy.md says why.
TEST(Accuracy, SomeClassesPromiseNothingOnSomeOperands) {
  const std::set<Distribution> beyond_strassen{Distribution::lognormal4, Distribution::huge,     Distribution::inf,
                                               Distribution::nan,        Distribution::rank_one, Distribution::outliers,
                                               Distribution::huge_row};
  for (const auto& [accuracy, unpromised] : std::vector<std::pair<AccuracyClass, std::set<Distribution>>>{
           {AccuracyClass::fp32, {}},
           {AccuracyClass::bf16_split, {}},
           {AccuracyClass::int8_split, {}},
           {AccuracyClass::tf32, {Distribution::denormals}},
           {AccuracyClass::fp32_split, {Distribution::denormals}},
           {AccuracyClass::fp16_split, {Distribution::lognormal4}},
           {AccuracyClass::fp32_strassen, beyond_strassen}}) {
    for (const Distribution data : KINDS) {
      EXPECT_EQ(promises(accuracy, data), !unpromised.contains(data)) << to_string(accuracy) << ", " << to_string(data);
      EXPECT_EQ(roundings_of(data) == Roundings::any, data == Distribution::lognormal4);
    }
  }
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
