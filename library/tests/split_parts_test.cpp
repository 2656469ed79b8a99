// FP32 numbers as sums of FP16 and BF16 ones: the scaling that brings them into range, and what the parts leave out,
// against double precision.

#include "executor/ptx.hpp"

#include "engine/int8_operands.cuh"
#include "engine/split_terms.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace sgemm::test {
namespace {

constexpr float INF = std::numeric_limits<float>::infinity();
constexpr float FLOAT_MAX = std::numeric_limits<float>::max();
constexpr float SMALLEST_NORMAL = std::numeric_limits<float>::min();
constexpr float SMALLEST = std::numeric_limits<float>::denorm_min();
/// Exponents of floats, the first ones those of denormal numbers.
constexpr int FIRST_EXPONENT = -149;
constexpr int FIRST_NORMAL_EXPONENT = -126;
constexpr int LAST_EXPONENT = 127;
constexpr std::uint32_t NANS[] = {0x7F800001U, 0x7FC00000U, 0x7FFFFFFFU, 0xFF800001U, 0xFFFFFFFFU};

/// The parts of two numbers that are split together, the largest first.
template <int PARTS>
struct Parts {
  std::array<float, PARTS> x{};
  std::array<float, PARTS> y{};
};

template <class Format, int PARTS>
Parts<PARTS> split(float x, float y) {
  unsigned pairs[PARTS];
  split_pair<Format>(x, y, pairs);
  Parts<PARTS> parts;
  for (std::size_t i = 0; i < PARTS; ++i) {
    const float2 values = Format::unpack(pairs[i]);
    parts.x[i] = values.x;
    parts.y[i] = values.y;
  }
  return parts;
}
Parts<2> split_to_fp16(float x, float y) { return split<Fp16, 2>(x, y); }
Parts<3> split_to_bf16(float x, float y) { return split<Bf16, 3>(x, y); }

/// Random mantissas and signs.
class RandomFloats {
 public:
  /// From 2^exponent to below twice that, or minus that; at the lowest exponents as many bits as denormal floats have.
  float operator()(int exponent) {
    const float one_to_two = std::bit_cast<float>(0x3F800000U | (static_cast<std::uint32_t>(random_()) & 0x7FFFFFU));
    const int bits = std::min(23, exponent - FIRST_EXPONENT);
    const float kept = std::ldexp(std::floor(std::ldexp(one_to_two, bits)), exponent - bits);
    return random_() % 2 == 0 ? kept : -kept;
  }

 private:
  std::mt19937_64 random_{1};
};

/// Numbers of each exponent: the least and the greatest number, their neighbours inside, a half, and random ones.
template <class Body>
void for_floats(int first_exponent, int last_exponent, int random_ones, const Body& body) {
  RandomFloats random;
  for (int exponent = first_exponent; exponent <= last_exponent; ++exponent) {
    const float least = std::ldexp(1.0F, exponent);
    const float greatest = exponent == LAST_EXPONENT ? FLOAT_MAX : std::nextafter(2.0F * least, 0.0F);
    for (const float x : {least, greatest, std::min(std::nextafter(least, INF), greatest),
                          std::max(std::nextafter(greatest, 0.0F), least), std::min(1.5F * least, greatest)}) {
      body(x);
      body(-x);
    }
    for (int i = 0; i < random_ones; ++i) {
      body(random(exponent));
    }
  }
}

TEST(MagnitudeTest, WhatNoScalingHelpsHasNone) {
  EXPECT_EQ(magnitude(INF), 0U);
  EXPECT_EQ(magnitude(-INF), 0U);
  for (const std::uint32_t bits : NANS) {
    EXPECT_EQ(magnitude(std::bit_cast<float>(bits)), 0U) << bits;
  }
}

TEST(ScalingTest, BringsTheLargestIntoItsBinades) {
  for_floats(FIRST_NORMAL_EXPONENT, LAST_EXPONENT, 10, [](float x) {
    const double largest = std::ldexp(std::fabs(x), scaling_exponent(magnitude(x)));
    EXPECT_GE(largest, std::ldexp(1.0, SCALED_EXPONENT - SCALING_STEP + 1)) << x;
    EXPECT_LT(largest, std::ldexp(1.0, SCALED_EXPONENT + 1)) << x;
  });
}

/// The magnitude of denormal numbers does not tell how small they are. They have so few bits that it does not matter:
/// multiples of 2^-149 become multiples of 2^-10, which two FP16 parts hold all of.
TEST(ScalingTest, DenormalNumbersKeepAllTheirBits) {
  for_floats(FIRST_EXPONENT, FIRST_NORMAL_EXPONENT - 1, 100, [](float x) {
    const int exponent = scaling_exponent(magnitude(x));
    EXPECT_EQ(exponent, scaling_exponent(0)) << x;
    const float in_range = scaled(x, exponent);
    EXPECT_EQ(in_range, std::ldexp(static_cast<double>(x), exponent)) << x;
    EXPECT_LT(std::fabs(in_range), std::ldexp(1.0, SCALED_EXPONENT + 1)) << x;
    const Parts<2> parts = split_to_fp16(in_range, 0.0F);
    EXPECT_EQ(static_cast<double>(parts.x[0]) + parts.x[1], in_range) << x;
  });
}

/// Where the result is denormal it is rounded twice, to numbers at most half of whose distance is lost the first time,
/// and as much once more, halved at least by the second factor.
TEST(ScaledTest, IsExactWhereTheResultIsNotDenormal) {
  constexpr int LOWEST = -298;
  constexpr int HIGHEST = 254;
  int exact = 0;
  int rounded = 0;
  int overflowed = 0;
  for_floats(FIRST_EXPONENT, LAST_EXPONENT, 2, [&](float x) {
    for (int exponent = LOWEST; exponent <= HIGHEST; ++exponent) {
      const double expected = std::ldexp(static_cast<double>(x), exponent);
      const float got = scaled(x, exponent);
      if (std::fabs(expected) > FLOAT_MAX) {
        ASSERT_EQ(got, expected > 0 ? INF : -INF) << x << ' ' << exponent;
        ++overflowed;
      } else if (std::fabs(expected) >= SMALLEST_NORMAL || std::fmod(expected, SMALLEST) == 0.0) {
        ASSERT_EQ(got, expected) << x << ' ' << exponent;
        ++exact;
      } else {
        ASSERT_LE(std::fabs(got - expected), 0.75 * SMALLEST) << x << ' ' << exponent;
        ++rounded;
      }
    }
  });
  for (const int count : {exact, rounded, overflowed}) {
    EXPECT_GT(count, 100000);
  }
}

template <std::size_t PARTS>
double sum_of(const std::array<float, PARTS>& parts) {
  double sum = 0.0;
  for (const float part : parts) {
    sum += part;
  }
  return sum;
}

/// With 2^e <= |x| < 2^(e + 1), the first part leaves at most 2^(e - 11), of which the second, with 11 bits, leaves at
/// most 2^(e - 23): 2^-23 |x|. FP16 ends at 2^-24, so that 2^-25 may be left whatever x is, which is below 2^-22 |x|
/// down to 2^-3.
TEST(Fp16PartsTest, LeaveOutNoMoreThanTheLastBit) {
  double worst = 0.0;
  for_floats(-60, SCALED_EXPONENT, 5000, [&](float x) {
    const Parts<2> parts = split_to_fp16(x, -x);
    const double left = std::fabs(x - sum_of(parts.x));
    ASSERT_LE(left, std::max(0x1p-23 * std::fabs(x), 0x1p-25)) << x;
    if (std::fabs(x) >= 0x1p-3F) {
      ASSERT_LE(left, 0x1p-22 * std::fabs(x)) << x;
      worst = std::max(worst, left / std::fabs(x));
    }
    // By more than half a unit of the first part's last place it would not be the nearest.
    ASSERT_LE(std::fabs(parts.x[1]), std::max(0x1p-11 * std::fabs(x), 0x1p-25)) << x;
    ASSERT_EQ(sum_of(parts.y), -sum_of(parts.x)) << x;
  });
  EXPECT_GT(worst, 0x1p-24) << "numbers that are not exact in two parts";
}

TEST(Fp16PartsTest, OfTwoNumbersDoNotMix) {
  const Parts<2> parts = split_to_fp16(0x1.004004p3F, 0x1.8006p-1F);
  EXPECT_EQ(parts.x[0], 0x1.004p3F);
  EXPECT_EQ(parts.x[1], 0x1p-19F);
  EXPECT_EQ(parts.y[0], 0x1.8p-1F);
  EXPECT_EQ(parts.y[1], 0x1.8p-15F);
}

/// Each part has 8 bits and a sign: three of them hold the 24 of a float, where the last is not below 2^-133, with
/// which BF16 ends: a float's last bit is 2^(e - 23).
TEST(Bf16PartsTest, AddUpToTheNumber) {
  // Above, the first part is Inf from half a step below 2^128 on; scaled numbers do not come near.
  for_floats(-110, LAST_EXPONENT - 1, 2000, [](float x) {
    const Parts<3> parts = split_to_bf16(x, -x);
    ASSERT_EQ(sum_of(parts.x), x);
    ASSERT_EQ(sum_of(parts.y), -x);
    ASSERT_LE(std::fabs(parts.x[1]), 0x1p-8 * std::fabs(x)) << x;
    ASSERT_LE(std::fabs(parts.x[2]), 0x1p-16 * std::fabs(x)) << x;
  });
}

/// Which tells a kernel that sums of products have to be computed otherwise.
TEST(PartsTest, OfInfAndNanAreNotFinite) {
  std::vector<float> numbers{INF, -INF};
  for (const std::uint32_t bits : NANS) {
    numbers.push_back(std::bit_cast<float>(bits));
  }
  for (const float x : numbers) {
    const auto expect = [x](const auto& split) {
      const auto first = split(x, 1.5F);
      const auto second = split(1.5F, x);
      EXPECT_FALSE(std::isfinite(sum_of(first.x)) || std::isfinite(sum_of(second.y))) << x;
      EXPECT_TRUE(sum_of(first.y) == 1.5 && sum_of(second.x) == 1.5) << x;
    };
    expect(split_to_fp16);
    expect(split_to_bf16);
  }
}

// ---- Integers of lines with one scale ----

using split_product::int8::LARGEST_EXPONENT;
using split_product::int8::LARGEST_INTEGER;
using split_product::int8::scale_code;
using split_product::int8::UNSCALABLE_LINE;

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(std::fabs(x)); }

/// Whatever the largest number of a line is, it comes to at most LARGEST_INTEGER, and to about half of it at least, or
/// the line has no scale.
TEST(Int8DigitsTest, LargestNumberOfALineUsesAllDigits) {
  constexpr float LARGEST = 0x1.FDFDFCp127F;    // LARGEST_INTEGER * 2^105
  constexpr float SMALLEST = 0x0.FDFDFEp-126F;  // which 2^148 brings to LARGEST_INTEGER / 2
  for_floats(FIRST_EXPONENT, LAST_EXPONENT, 200, [](float x) {
    const int code = scale_code(bits_of(x));
    if (std::fabs(x) > LARGEST || std::fabs(x) < SMALLEST) {
      ASSERT_EQ(code, UNSCALABLE_LINE) << x;
      return;
    }
    ASSERT_GE(code, 1) << x;
    ASSERT_LE(code, 254) << x;
    const double largest = std::ldexp(std::fabs(static_cast<double>(x)), LARGEST_EXPONENT - code);
    ASSERT_LE(largest, LARGEST_INTEGER) << x;
    ASSERT_GE(largest, std::exp2(21.988)) << x;
  });
  EXPECT_EQ(scale_code(0), 127);
  EXPECT_EQ(scale_code(bits_of(SMALLEST)), 1);
  EXPECT_EQ(scale_code(bits_of(LARGEST)), 254);
  EXPECT_EQ(scale_code(bits_of(INF)), UNSCALABLE_LINE);
  for (const std::uint32_t bits : NANS) {
    EXPECT_EQ(scale_code(bits & 0x7FFFFFFFU), UNSCALABLE_LINE) << bits;
  }
}

/// The digits of a number in a line of that code, the largest first.
std::array<int, 3> digits(float x, int code) {
  unsigned words[3];  // of x beside others
  split_product::int8::split_four({0.0F, x, 0.0F, 0.0F}, split_product::int8::Scale(code), words);
  const auto digit = [](unsigned word) { return static_cast<int>(static_cast<signed char>(word >> 8U)); };
  return {digit(words[0]), digit(words[1]), digit(words[2])};
}

/// Digits are those of the nearest integer, and signed bytes.
void expect_digits(float x, int code) {
  const double scaled_x = std::ldexp(static_cast<double>(x), LARGEST_EXPONENT - code);
  const auto [high, middle, low] = digits(x, code);
  const double integer = high * 65536.0 + middle * 256.0 + low;
  ASSERT_EQ(integer, std::nearbyint(scaled_x)) << x << ' ' << code;
}

TEST(Int8DigitsTest, AddUpToTheNearestInteger) {
  for_floats(FIRST_NORMAL_EXPONENT, LAST_EXPONENT - 1, 100, [](float x) {
    const int code = scale_code(bits_of(x));
    for (const int larger_line : {0, 1, 7, 8, 16, 23, 24, 60}) {
      expect_digits(x, std::min(code + larger_line, 254));
    }
  });
}

TEST(Int8DigitsTest, CarryIntoLargerDigits) {
  constexpr int CODE = LARGEST_EXPONENT;  // integers are the numbers themselves
  for (const int integer : {0, 127, 128, -128, -129, 32639, 32640, -32896, -32897, 8355711, -8355711, 8290432}) {
    expect_digits(static_cast<float>(integer), CODE);
  }
  EXPECT_EQ(digits(128.0F, CODE), (std::array{0, 1, -128}));
  EXPECT_EQ(digits(8355711.0F, CODE), (std::array{127, 127, 127}));
  EXPECT_EQ(digits(-8290432.0F, CODE), (std::array{-126, -128, -128}));
}

}  // namespace
}  // namespace sgemm::test
