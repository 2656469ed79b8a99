#include "simt/half_floats.hpp"
#include "simt/half_arithmetic.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace simt {
namespace {

constexpr std::uint32_t SIGN = 0x80000000U;
constexpr std::uint32_t FLOAT_INF = 0x7F800000U;
constexpr std::uint16_t HALF_NAN = 0x7FFF;  // GPUs turn every NaN into this one
constexpr unsigned BF16_SHIFT = 16;

constexpr std::uint16_t FP16_INF = 0x7C00;
constexpr unsigned FP16_SHIFT = 13;                               // mantissa bits that FP16 lacks
constexpr std::uint32_t FP16_REBIAS = (127U - 15U) << 23U;        // between exponents
constexpr std::uint32_t FP16_OVERFLOW = 0x477FF000U;              // 65520, half a step above the largest
constexpr std::uint32_t FP16_NORMAL = FP16_REBIAS + (1U << 23U);  // the smallest that is no subnormal

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }

/// Drops the lower `shift` bits and rounds to the nearest, ties to even.
std::uint32_t rounded(std::uint32_t bits, unsigned shift) {
  return (bits + (1U << (shift - 1)) - 1 + (bits >> shift & 1U)) >> shift;
}

}  // namespace

std::uint16_t to_fp16(float x) {
  const auto sign = static_cast<std::uint16_t>((bits_of(x) & SIGN) >> 16U);
  const std::uint32_t magnitude = bits_of(x) & ~SIGN;
  if (magnitude > FLOAT_INF) {
    return HALF_NAN;
  }
  if (magnitude >= FP16_OVERFLOW) {
    return sign | FP16_INF;
  }
  if (magnitude < FP16_NORMAL) {
    // Floats from 0.5 on lie as far apart as subnormals do, so that the addition rounds.
    constexpr float SAME_STEP = 0.5F;
    return static_cast<std::uint16_t>(sign | (bits_of(float_of(magnitude) + SAME_STEP) - bits_of(SAME_STEP)));
  }
  return static_cast<std::uint16_t>(sign | rounded(magnitude - FP16_REBIAS, FP16_SHIFT));
}

std::uint16_t to_bf16(float x) {
  return (bits_of(x) & ~SIGN) > FLOAT_INF ? HALF_NAN : static_cast<std::uint16_t>(rounded(bits_of(x), BF16_SHIFT));
}

float to_tf32(float x) {
  constexpr unsigned MISSING = 13;
  const std::uint32_t bits = bits_of(x);
  if ((bits & ~SIGN) >= FLOAT_INF) {
    return x;
  }
  return float_of((bits + (1U << (MISSING - 1))) >> MISSING << MISSING);
}

float from_fp16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t magnitude = bits & 0x7FFFU;
  const std::uint32_t shifted = magnitude << FP16_SHIFT;
  if (magnitude >= FP16_INF) {
    return float_of(sign | shifted | FLOAT_INF);
  }
  if (magnitude < 1U << 10U) {  // read it with the lowest exponent and a leading 1, and subtract the 1 again
    return float_of(sign | bits_of(float_of(FP16_NORMAL + shifted) - float_of(FP16_NORMAL)));
  }
  return float_of(sign | (shifted + FP16_REBIAS));
}

float from_bf16(std::uint16_t bits) { return float_of(std::uint32_t{bits} << BF16_SHIFT); }

std::uint8_t to_fp8(float x, unsigned mantissa_bits) {
  const bool e4m3 = mantissa_bits == 3;
  if (std::isnan(x)) {
    return 0x7F;
  }
  const int lowest_exponent = e4m3 ? -6 : -14;
  const float magnitude = std::min(std::fabs(x), e4m3 ? 448.0F : 57344.0F);
  const int exponent = magnitude == 0 ? lowest_exponent : std::max(std::ilogb(magnitude), lowest_exponent);
  const auto digits =
      static_cast<unsigned>(std::rint(std::ldexp(magnitude, static_cast<int>(mantissa_bits) - exponent)));
  // The leading 1 of the digits counts as the lowest exponent, and where they were rounded up to 2 as the next one.
  const unsigned bits = (static_cast<unsigned>(exponent - lowest_exponent) << mantissa_bits) + digits;
  return static_cast<std::uint8_t>((std::signbit(x) ? 0x80U : 0U) | bits);
}

float from_fp8(std::uint8_t bits, unsigned mantissa_bits) {
  const bool e4m3 = mantissa_bits == 3;
  const unsigned magnitude = bits & 0x7FU;
  const unsigned inf = e4m3 ? 0x7FU : 0x7CU;
  const int exponent = static_cast<int>(magnitude >> mantissa_bits);
  const unsigned mantissa = magnitude % (1U << mantissa_bits);
  const unsigned digits = exponent == 0 ? mantissa : mantissa + (1U << mantissa_bits);
  const float value = magnitude > inf || (e4m3 && magnitude == inf) ? NAN
                      : magnitude == inf
                          ? HUGE_VALF
                          : std::ldexp(static_cast<float>(digits),
                                       std::max(exponent - 1, 0) + (e4m3 ? -6 : -14) - static_cast<int>(mantissa_bits));
  return bits >= 0x80U ? -value : value;
}

float odd_sum(float sum, float x, float y, float z) {
  const double product = static_cast<double>(x) * y;
  const double exact = product + z;
  const double of_z = exact - product;
  const double beyond_double = (product - (exact - of_z)) + (z - of_z);  // Knuth's TwoSum
  const double beyond = exact - sum;
  const double rest = beyond != 0 ? beyond : beyond_double;
  if (!std::isfinite(sum) || rest == 0 || (bits_of(sum) & 1U) != 0) {
    return sum;
  }
  return std::nextafterf(sum, rest > 0 ? HUGE_VALF : -HUGE_VALF);
}

void read_numbers(MmaFormat format, const void* from, std::size_t bytes, float* to) {
  const auto read = [&](auto element, const auto& number_of) {
    for (std::size_t at = 0; at < bytes; at += sizeof element) {
      std::memcpy(&element, static_cast<const std::byte*>(from) + at, sizeof element);
      *to++ = number_of(element);
    }
  };
  switch (format) {
    case MmaFormat::tf32:
      return read(std::uint32_t{}, [](std::uint32_t bits) { return std::bit_cast<float>(bits & ~0U << 13U); });
    case MmaFormat::fp16:
      return read(std::uint16_t{}, from_fp16);
    case MmaFormat::bf16:
      return read(std::uint16_t{}, from_bf16);
    case MmaFormat::s8:
      return read(std::int8_t{}, [](std::int8_t integer) { return static_cast<float>(integer); });
  }
}

}  // namespace simt
