// Numbers of 16 and 8 bits, each of them, against what their bits mean.

#include "simt/half_floats.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace simt::test {
namespace {

constexpr float INF = std::numeric_limits<float>::infinity();
constexpr unsigned PATTERNS = 1U << 16U;
constexpr unsigned SIGN = 0x8000;

struct Format {
  std::uint16_t (*to)(float);
  float (*from)(std::uint16_t);
  unsigned mantissa_bits;
  int lowest_exponent;  ///< of numbers that are not subnormal
  unsigned inf;         ///< its bits
};
constexpr Format FP16{simt::to_fp16, simt::from_fp16, 10, -14, 0x7C00};
constexpr Format BF16{simt::to_bf16, simt::from_bf16, 7, -126, 0x7F80};

/// The value of the bits, if not Inf or NaN.
double meaning(const Format& format, unsigned bits) {
  const unsigned magnitude = bits % SIGN;
  const unsigned exponent = magnitude >> format.mantissa_bits;
  const unsigned mantissa = magnitude % (1U << format.mantissa_bits);
  const unsigned digits = exponent == 0 ? mantissa : mantissa + (1U << format.mantissa_bits);
  const int shift = static_cast<int>(exponent == 0 ? 0 : exponent - 1) + format.lowest_exponent;
  const double value = std::ldexp(digits, shift - static_cast<int>(format.mantissa_bits));
  return bits >= SIGN ? -value : value;
}

void expect_meanings(const Format& format) {
  for (unsigned bits = 0; bits < PATTERNS; ++bits) {
    const float got = format.from(static_cast<std::uint16_t>(bits));
    ASSERT_EQ(std::signbit(got), bits >= SIGN) << bits;
    if (bits % SIGN > format.inf) {
      ASSERT_TRUE(std::isnan(got)) << bits;
      ASSERT_GT(format.to(got) % SIGN, format.inf) << bits;
      continue;
    }
    if (bits % SIGN == format.inf) {
      ASSERT_EQ(std::fabs(got), INF) << bits;
    } else {
      ASSERT_EQ(got, meaning(format, bits)) << bits;
    }
    ASSERT_EQ(format.to(got), bits);
  }
}

/// Between each two neighbours.
void expect_nearest(const Format& format) {
  for (unsigned bits = 0; bits < PATTERNS; ++bits) {
    if (bits % SIGN >= format.inf) {
      continue;
    }
    const double low = meaning(format, bits);
    const double high = meaning(format, bits + 1);  // Inf as well: where the next number would be
    const auto middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(middle, (low + high) / 2);
    ASSERT_EQ(format.to(middle), bits % 2 == 0 ? bits : bits + 1) << middle;
    ASSERT_EQ(format.to(std::nextafter(middle, 0.0F)), bits) << middle;
    ASSERT_EQ(format.to(std::nextafter(middle, low < 0 || bits >= SIGN ? -INF : INF)), bits + 1) << middle;
  }
}

TEST(HalfFloats, EveryFp16) { expect_meanings(FP16); }
TEST(HalfFloats, EveryBf16) { expect_meanings(BF16); }
TEST(HalfFloats, RoundingToFp16) { expect_nearest(FP16); }
TEST(HalfFloats, RoundingToBf16) { expect_nearest(BF16); }

TEST(HalfFloats, BeyondTheLargest) {
  EXPECT_EQ(simt::to_fp16(65504.0F), 0x7BFF);
  EXPECT_EQ(simt::to_fp16(65520.0F), 0x7C00);
  EXPECT_EQ(simt::to_fp16(-1e30F), 0xFC00);
  EXPECT_EQ(simt::to_fp16(-INF), 0xFC00);
  EXPECT_EQ(simt::to_bf16(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_EQ(simt::to_bf16(-INF), 0xFF80);
}

TEST(HalfFloats, BelowTheSmallest) {
  EXPECT_EQ(simt::to_fp16(0x1p-25F), 0);
  EXPECT_EQ(simt::to_fp16(0x1.000002p-25F), 1);
  EXPECT_EQ(simt::to_fp16(-1e-40F), 0x8000);
  EXPECT_EQ(simt::to_bf16(std::numeric_limits<float>::denorm_min()), 0);
}

TEST(HalfFloats, NumbersOf8Bits) {
  struct Of8Bits {
    unsigned mantissa_bits;
    Format format;
    unsigned largest;
  };
  for (const auto& [mantissa_bits, format, largest] :
       {Of8Bits{3, {nullptr, nullptr, 3, -6, 0}, 0x7E}, Of8Bits{2, {nullptr, nullptr, 2, -14, 0}, 0x7B}}) {
    for (unsigned bits = 0; bits <= largest; ++bits) {
      const double value = meaning(format, bits);
      ASSERT_EQ(simt::from_fp8(static_cast<std::uint8_t>(bits), mantissa_bits), value);
      ASSERT_EQ(simt::from_fp8(static_cast<std::uint8_t>(bits | 0x80U), mantissa_bits), -value);
      ASSERT_EQ(simt::to_fp8(static_cast<float>(-value), mantissa_bits), bits | 0x80U);
      if (bits < largest) {
        const auto middle = static_cast<float>((value + meaning(format, bits + 1)) / 2);
        ASSERT_EQ(simt::to_fp8(middle, mantissa_bits), bits % 2 == 0 ? bits : bits + 1) << middle;
        ASSERT_EQ(simt::to_fp8(std::nextafter(middle, 0.0F), mantissa_bits), bits) << middle;
        ASSERT_EQ(simt::to_fp8(std::nextafter(middle, INF), mantissa_bits), bits + 1) << middle;
      }
    }
    EXPECT_EQ(simt::to_fp8(1e30F, mantissa_bits), largest);
    EXPECT_EQ(simt::to_fp8(NAN, mantissa_bits), 0x7F);
    EXPECT_TRUE(std::isnan(simt::from_fp8(0x7F, mantissa_bits)));
  }
  EXPECT_EQ(simt::from_fp8(0x7C, 2), INF);
}

TEST(HalfFloats, NanStaysNan) {
  for (const std::uint32_t bits : {0x7F800001U, 0x7FC00000U, 0x7FFFFFFFU, 0xFF800001U, 0xFFFFFFFFU}) {
    const auto nan = std::bit_cast<float>(bits);
    EXPECT_TRUE(std::isnan(simt::from_fp16(simt::to_fp16(nan)))) << bits;
    EXPECT_TRUE(std::isnan(simt::from_bf16(simt::to_bf16(nan)))) << bits;
    EXPECT_TRUE(std::isnan(simt::to_tf32(nan))) << bits;
  }
}

}  // namespace
}  // namespace simt::test
