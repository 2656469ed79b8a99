#pragma once

// FP32 numbers as sums of terms of 16 bits, and the powers of two that bring them into their range.

#include "common/ceil_div.hpp"
#include "common/target.hpp"
#include "ptx/cvt.cuh"

#include <cuda_runtime.h>

namespace sgemm {
inline namespace SGEMM_TARGET {

constexpr int EXPONENT_BIAS = 127;
constexpr unsigned MANTISSA_BITS = 23;
constexpr unsigned INFINITY_BITS = 0xFFU << MANTISSA_BITS;

/// 2^exponent, for exponents from -149 (the smallest denormal float) to 127.
__device__ __forceinline__ float power_of_2(int exponent) {
  constexpr int SMALLEST_NORMAL = 1 - EXPONENT_BIAS;
  const unsigned bits = exponent < SMALLEST_NORMAL
                            ? 1U << static_cast<unsigned>(exponent - SMALLEST_NORMAL + static_cast<int>(MANTISSA_BITS))
                            : static_cast<unsigned>(exponent + EXPONENT_BIAS) << MANTISSA_BITS;
  return __uint_as_float(bits);
}

/// The bits of |x|, which order as the numbers do; 0 for Inf and NaN, which no scaling helps and which must not spoil
/// that of their neighbours.
__device__ __forceinline__ unsigned magnitude(float x) {
  const unsigned bits = __float_as_uint(x) & ~(1U << 31U);
  return bits < INFINITY_BITS ? bits : 0;
}

/// Numbers of 2^15 and more are not reached by what scaling_exponent() scales; those of FP16 end at 2^16.
constexpr int SCALED_EXPONENT = 14;
/// Scaling goes by steps of so many binades: operands of one kind mostly have it the same everywhere.
constexpr int SCALING_STEP = 8;

/// The power of two by which to multiply numbers of which the largest has this magnitude, so that it lies between
/// 2^(SCALED_EXPONENT - SCALING_STEP + 1) and 2^(SCALED_EXPONENT + 1). It goes from -117 to 139.
__device__ __forceinline__ int scaling_exponent(unsigned largest) {
  constexpr int FIRST = -4;  // of a step: operands between 2^-4 and 2^4 are the usual ones
  constexpr int STEPS_BELOW = 16;
  const int exponent = static_cast<int>(largest >> MANTISSA_BITS) - EXPONENT_BIAS;
  const int step = (exponent - FIRST + STEPS_BELOW * SCALING_STEP) / SCALING_STEP - STEPS_BELOW;
  return SCALED_EXPONENT - (FIRST + SCALING_STEP - 1) - step * SCALING_STEP;
}

/// x * 2^exponent, rounded only where it is denormal, also where 2^exponent is no float. `exponent` from -298 to 254.
__device__ __forceinline__ float scaled(float x, int exponent) {
  const int half = exponent / 2;
  return x * power_of_2(half) * power_of_2(exponent - half);
}

/// Writes x and y as sums of TERMS terms each, the largest first. Each term is what the ones before leave, rounded;
/// what the last one leaves is dropped. `terms` holds pairs, x in the lower half.
template <class Format, int TERMS>
__device__ __forceinline__ void split_pair(float x, float y, unsigned (&terms)[TERMS]) {
#pragma unroll
  for (int i = 0; i < TERMS; ++i) {
    terms[i] = Format::pack(x, y);
    if (i + 1 < TERMS) {
      const float2 rounded = Format::unpack(terms[i]);
      x -= rounded.x;
      y -= rounded.y;
    }
  }
}

}  // namespace SGEMM_TARGET
}  // namespace sgemm
