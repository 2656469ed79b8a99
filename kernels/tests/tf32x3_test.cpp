// FP32 numbers split for tensor cores, and what chapter 10 does where the parts are not finite, or too small.

#include "split_tf32.hpp"

#include "base/kernel.hpp"
#include "fixtures/product_case.hpp"
#include "verify/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

namespace sgemm::test {
namespace {

constexpr float INF = std::numeric_limits<float>::infinity();
constexpr float FLOAT_MAX = std::numeric_limits<float>::max();
constexpr std::uint32_t IGNORED = (1U << 13U) - 1;  // mantissa bits that TF32 lacks

/// The bits of it that a tensor core reads.
float as_read(float x) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & ~IGNORED); }

/// Both parts as a tensor core reads them.
double sum_as_read(float x) {
  const SplitFloat parts = split(x);
  return static_cast<double>(as_read(parts.big)) + as_read(parts.small);
}

/// Random bits, with an exponent from `lowest` to `highest`.
class RandomFloats {
 public:
  RandomFloats(int lowest, int highest) : exponent_(lowest, highest) {}
  float operator()() {
    const float one_to_two = std::bit_cast<float>(0x3F800000U | (static_cast<std::uint32_t>(random_()) & 0x7FFFFFU));
    return std::ldexp(random_() % 2 == 0 ? one_to_two : -one_to_two, exponent_(random_));
  }

 private:
  std::mt19937_64 random_{1};
  std::uniform_int_distribution<int> exponent_;
};

TEST(SplitTest, PartsAddUpToTheNumber) {
  RandomFloats random(-126, 126);
  for (int i = 0; i < 100000; ++i) {
    const float x = random();
    const auto [big, small] = split(x);
    EXPECT_EQ(as_read(big), big) << x;
    EXPECT_LE(std::fabs(small), 0x1p-11 * std::fabs(x)) << x;
    EXPECT_EQ(static_cast<double>(big) + small, x);
  }
}

TEST(SplitTest, TensorCoresReadAllButTheLastBit) {
  RandomFloats random(-113, 126);
  for (int i = 0; i < 100000; ++i) {
    const float x = random();
    EXPECT_LE(std::fabs(sum_as_read(x) - x), 0x1p-23 * std::fabs(x)) << x;
  }
}

TEST(SplitTest, SmallPartsLoseBitsToUnderflow) {
  RandomFloats random(-149, -114);
  for (int i = 0; i < 100000; ++i) {
    const float x = random();
    EXPECT_LE(std::fabs(sum_as_read(x) - x), 0x1p-136) << x;
  }
  EXPECT_EQ(sum_as_read(0x1p-136F), 0x1p-136);
  EXPECT_EQ(sum_as_read(0x1p-149F), 0.0);
}

TEST(SplitTest, SpecialNumbers) {
  EXPECT_EQ(split(0.0F).big, 0.0F);
  EXPECT_EQ(split(0.0F).small, 0.0F);
  EXPECT_TRUE(std::signbit(split(-0.0F).big));
  for (const std::uint32_t bits : {0x7FC00000U, 0x7F800001U, 0x7FFFFFFFU, 0xFFFFFFFFU}) {
    EXPECT_TRUE(std::isnan(split(std::bit_cast<float>(bits)).small)) << bits;
  }
  EXPECT_EQ(split(INF).big, INF);
  EXPECT_TRUE(std::isnan(split(INF).small));
  // Beyond the largest number in TF32 and half a step there is only Inf.
  EXPECT_EQ(split(FLOAT_MAX).big, INF);
  EXPECT_EQ(split(-FLOAT_MAX).small, INF);
  EXPECT_EQ(split(0x1.FFDFFEp127F).big, 0x1.FFCp127F);
}

const Kernel& chapter(std::string_view id) {
  return *std::find_if(kernels().begin(), kernels().end(), [&](const Kernel& kernel) { return kernel.id() == id; });
}

/// Runs a variant of chapter 10 on the operands, which `change` may change first.
template <class Change>
Verdict run(std::string_view id, const ProductCase& product, const Change& change) {
  HostCase host(product);
  change(host);
  Matrix c = host.c;
  const Problem problem = host.problem(c);
  const auto reference = Reference::compute(problem, Platform::cpu, HostCase::SEED);
  chapter(id).build(Target::for_executor).prepare(problem)(problem, nullptr);
  return reference->check(c.data(), c.ld(), AccuracyClass::fp32_split);
}

void make_positive(HostCase& host) {
  for (std::vector<float>* storage : {&host.a.storage(), &host.b.storage()}) {
    std::transform(storage->begin(), storage->end(), storage->begin(), [](float x) { return std::fabs(x); });
  }
}

TEST(LengthyTf32x3Test, PromotionKeepsLongSumsFromDrifting) {
  const ProductCase product{16, 16, 4096};
  const Verdict promoted = run("10_tf32x3", product, make_positive);
  const Verdict single_sum = run("10_tf32x3:single_sum", product, make_positive);
  EXPECT_TRUE(promoted.correct()) << promoted.describe();
  EXPECT_LT(promoted.rel_err, 1e-6);
  EXPECT_FALSE(single_sum.correct()) << single_sum.describe();
  EXPECT_GT(single_sum.rel_err, 10.0 * promoted.rel_err);
}

TEST(Tf32x3Test, OperandsMayBeAsLargeAsFloatsGo) {
  const Verdict verdict = run("10_tf32x3", {33, 40, 24}, [](HostCase& host) {
    host.b.fill(0.03125F);
    host.a.at(0, 0) = FLOAT_MAX;
    host.a.at(1, 7) = -FLOAT_MAX;
    host.a.at(2, 3) = 0x1.FFDFFEp127F;
  });
  EXPECT_TRUE(verdict.correct()) << verdict.describe();
}

TEST(Tf32x3Test, OperandsMayBeSmall) {
  const Verdict verdict = run("10_tf32x3", {33, 40, 24}, [](HostCase& host) {
    RandomFloats random(-113, -100);
    for (std::int64_t row = 0; row < host.a.rows(); ++row) {
      for (std::int64_t k = 0; k < host.a.cols(); ++k) {
        host.a.at(row, k) = random();
      }
    }
  });
  EXPECT_TRUE(verdict.correct()) << verdict.describe();
}

TEST(Tf32x3Test, SubnormalOperandsLoseBits) {
  const Verdict verdict = run("10_tf32x3", {33, 40, 24}, [](HostCase& host) {
    host.a.fill(0x1.234p-137F);
    host.b.fill(0x1p60F);
  });
  EXPECT_FALSE(verdict.correct());
}

}  // namespace
}  // namespace sgemm::test
