// What chapter 10 does with long sums, and where the terms are not finite, or too small.

#include "base/kernel.hpp"
#include "fixtures/reference_case.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sgemm::test {
namespace {

constexpr float FLOAT_MAX = std::numeric_limits<float>::max();

class Tf32x3Test : public testing::Test {
 protected:
  void SetUp() override {
    if (!find_kernel("10_tf32x3")) {
      GTEST_SKIP() << "this build has no chapter 10 for the executor";
    }
  }
};
class LengthyTf32x3Test : public Tf32x3Test {};

/// Runs a variant of chapter 10 on the operands, which `change` may change first.
template <class Change>
Verdict run(std::string_view id, const ProductCase& product, const Change& change) {
  HostCase host(product);
  change(host);
  return ReferenceCase(host).run(find_kernel(id)->build(Target::for_executor).prepare(host.shape),
                                 AccuracyClass::fp32_split);
}

void make_positive(HostCase& host) {
  for (Matrix* const operand : {&host.a, &host.b}) {
    operand->replace([](float x, auto, auto) { return std::fabs(x); });
  }
}

TEST_F(LengthyTf32x3Test, PromotionKeepsLongSumsFromDrifting) {
  const ProductCase product{16, 16, 4096};
  const Verdict promoted = run("10_tf32x3", product, make_positive);
  const Verdict single_sum = run("10_tf32x3:single_sum", product, make_positive);
  EXPECT_TRUE(promoted.correct()) << promoted.describe();
  EXPECT_LT(promoted.rel_err(), 1e-6);
  EXPECT_FALSE(single_sum.correct()) << single_sum.describe();
  EXPECT_GT(single_sum.rel_err(), 10.0 * promoted.rel_err());
}

void expect_correct(bool correct, void (*change)(HostCase&)) {
  const Verdict verdict = run("10_tf32x3", {33, 40, 24}, change);
  EXPECT_EQ(verdict.correct(), correct) << verdict.describe();
}

TEST_F(Tf32x3Test, OperandsMayBeAsLargeAsFloatsGo) {
  expect_correct(true, [](HostCase& host) {
    host.b.fill(0.03125F);
    host.a.at(0, 0) = FLOAT_MAX;
    host.a.at(1, 7) = -FLOAT_MAX;
    host.a.at(2, 3) = 0x1.FFDFFEp127F;
  });
}

TEST_F(Tf32x3Test, OperandsMayBeSmall) {
  expect_correct(true, [](HostCase& host) { host.a.scale([](auto, auto) { return -103; }); });  // of uniform ones
}

TEST_F(Tf32x3Test, SubnormalOperandsLoseBits) {
  expect_correct(false, [](HostCase& host) {
    host.a.fill(0x1.234p-137F);
    host.b.fill(0x1p60F);
  });
}

}  // namespace
}  // namespace sgemm::test
