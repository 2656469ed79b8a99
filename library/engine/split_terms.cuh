#pragma once

// FP32 numbers as sums of terms of 16 bits, and the powers of two that bring them into their range.

#include "common/target.hpp"
#include "ptx/cvt.cuh"

#include <cuda_runtime.h>

namespace sgemm::SGEMM_TARGET {

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

/// The bits of |x|, which have the same order as the numbers. The result is 0 for Inf and NaN: no scaling helps them,
/// and they must not spoil the scaling of their neighbours.
__device__ __forceinline__ unsigned magnitude(float x) {
  const unsigned bits = __float_as_uint(x) & ~(1U << 31U);
  return bits < INFINITY_BITS ? bits : 0;
}

/// scaling_exponent() scales numbers to less than 2^15. FP16 ends at 2^16.
constexpr int SCALED_EXPONENT = 14;
/// Scaling goes by steps of SCALING_STEP binades, so that operands of one kind mostly have the same scaling everywhere.
constexpr int SCALING_STEP = 8;

/// The exponent of the power of two that scales numbers whose largest has this magnitude. It brings the largest to
/// between 2^(SCALED_EXPONENT - SCALING_STEP + 1) and 2^(SCALED_EXPONENT + 1). The exponent lies between -117 and 139.
__device__ __forceinline__ int scaling_exponent(unsigned largest) {
  constexpr int FIRST = -4;  // of a step: operands between 2^-4 and 2^4 are the usual ones
  constexpr int STEPS_BELOW = 16;
  const int exponent = static_cast<int>(largest >> MANTISSA_BITS) - EXPONENT_BIAS;
  const int step = (exponent - FIRST + STEPS_BELOW * SCALING_STEP) / SCALING_STEP - STEPS_BELOW;
  return SCALED_EXPONENT - (FIRST + SCALING_STEP - 1) - step * SCALING_STEP;
}

/// x * 2^exponent, rounded only if it is denormal. 2^exponent itself need not be a float: `exponent` goes from -298 to
/// 254.
__device__ __forceinline__ float scaled(float x, int exponent) {
  const int half = exponent / 2;
  return x * power_of_2(half) * power_of_2(exponent - half);
}

/// Writes x and y as sums of TERMS terms each, the largest first. Each term is the rounded rest that the terms before
/// it leave. The rest after the last term is dropped. `terms` holds pairs, x in the lower half.
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

}  // namespace sgemm::SGEMM_TARGET
