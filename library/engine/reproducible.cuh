#pragma once

// What all kernels of the reproducible class have in common: the last step from exact sums to elements of C.
// docs/15_reproducible.md defines the results bit by bit; reproducible/reference.cpp is the same in plain C++.

#include "common/target.hpp"
#include "engine/int8_operands.cuh"

#include <cuda_runtime.h>

#include <cmath>

namespace sgemm::SGEMM_TARGET::reproducible {

__device__ __forceinline__ double double_of_bits(unsigned high, unsigned low) {
  return __longlong_as_double(static_cast<long long>(static_cast<unsigned long long>(high) << 32U | low));
}

/// An exact sum of products of digits, of the six products for each k, in units of the smallest one. It has room for
/// any k.
using Sum = long long;

/// A sum as a double, rounded to the nearest. A conversion instruction gives the same at a quarter of the speed. Here
/// both halves become doubles by their place in a mantissa, and only the last addition rounds.
__device__ __forceinline__ double to_double(Sum sum) {
  constexpr unsigned UNITS_OF_1 = 0x43300000;        // of 2^52, the upper half of its bits
  constexpr unsigned UNITS_OF_2_TO_32 = 0x45300000;  // of 2^84
  constexpr unsigned SIGN = 0x80000000;              // 2^63, so that the upper half counts from 0 on
  const double low = double_of_bits(UNITS_OF_1, static_cast<unsigned>(sum));
  const double high = double_of_bits(UNITS_OF_2_TO_32, static_cast<unsigned>(sum >> 32) ^ SIGN);
  return (high - (0x1p84 + 0x1p63 + 0x1p52)) + low;
}

/// The factor of a line that, multiplied by another one's, undoes their scaling in sums, which are in units of 2^16.
__device__ __forceinline__ double undoing(int code) {
  constexpr int EXPONENT = split_product::int8::LARGEST_EXPONENT - 8;
  return double_of_bits(static_cast<unsigned>(1023 - EXPONENT + code) << 20U, 0);
}

/// alpha * A * B of an element: `row` is alpha times the factor of its row, `column` the factor of its column. Only
/// alpha * sum is rounded, because all other factors are powers of two.
__device__ __forceinline__ double product(Sum sum, double row, double column) { return to_double(sum) * column * row; }

/// What is stored in place of `c`, which does not count where beta is 0. PLAIN: beta is 0, and the product is finite.
template <bool PLAIN>
__device__ __forceinline__ float updated(double product, float beta, float c) {
  if (PLAIN) {
    return static_cast<float>(product);
  }
  const double value = beta == 0.0F ? product : fma(static_cast<double>(beta), static_cast<double>(c), product);
  return value == value ? static_cast<float>(value) : __uint_as_float(0x7FFFFFFF);
}

}  // namespace sgemm::SGEMM_TARGET::reproducible
