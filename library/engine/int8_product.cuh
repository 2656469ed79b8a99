#pragma once

// FP32 products on 8-bit tensor cores (sm_90a), second half: what kernels that multiply operand tiles of digits have
// around their main loop, which is in int8x6_loop.cuh.

#include "common/problem.hpp"
#include "engine/int8_operands.cuh"
#include "engine/split_product.cuh"
#include "engine/split_schemes.cuh"
#include "engine/split_terms.cuh"
#include "engine/stream_k.cuh"

#include <cmath>
#include <cstdint>
#include <limits>

namespace sgemm {
inline namespace SGEMM_TARGET {
namespace split_product {
namespace int8 {

using Shape = Tile128x128<Int8x6>;

/// A thread's sums of products of digits: one for each power of 256, the largest power first. They lie as wgmma holds
/// D.
constexpr int SUMS = 3;
using DigitSums = int[SUMS][64];

/// How many k-tiles can be summed before a sum might leave INT32's range. A digit is at least -128, so that a product
/// is at most 2^14, and the last sum takes three of them for each k. The other sums take two and one, which leaves room
/// for the carries of add_up().
constexpr int MOST_K_TILES = 341;
constexpr std::int64_t LARGEST_SUM = std::int64_t{MOST_K_TILES} * Int8x6::BK * 3 * (128 * 128);
static_assert(LARGEST_SUM <= std::numeric_limits<int>::max());

/// A thread's sums of each power of 256 added up, in units of UNIT: sums[0] * 2^16 + sums[1] * 2^8 + sums[2]. Carries
/// leave a byte of each of the two smaller sums, so that floats hold all that may have to be exact: a total of 24 bits
/// or fewer is not rounded, and any other total is rounded twice.
constexpr float UNIT = 0x1p-28F;
template <int VALUES>
__device__ __forceinline__ void add_up(const int (&sums)[SUMS][VALUES], float (&totals)[VALUES]) {
#pragma unroll
  for (int i = 0; i < VALUES; ++i) {
    const int middle = sums[1][i] + (sums[2][i] >> 8);
    const int high = sums[0][i] + (middle >> 8);
    // The two bytes that are left become the lowest ones of 2^23 as a float, which is 2^23 more than they are.
    const unsigned low = __byte_perm(__byte_perm(sums[2][i], middle, 0x40), __float_as_uint(0x1p23F), 0x7610);
    totals[i] = fmaf(static_cast<float>(high), 0x1p16F * UNIT, fmaf(__uint_as_float(low), UNIT, -0x1p23F * UNIT));
  }
}

/// The factor of a line that, multiplied by another one's, undoes their scaling in totals. A number of a line is an
/// integer times 2^(code - LARGEST_EXPONENT), and totals are in units of the product of two second digits, 2^16. That
/// leaves 2^(code - 127), whose exponent bits are the code. The factor is Inf if the line has no scale.
__device__ __forceinline__ float undoing(int code) {
  static_assert(2 * (LARGEST_EXPONENT - EXPONENT_BIAS) - 2 * 8 == 28);  // as in UNIT
  return __uint_as_float(static_cast<unsigned>(code) << MANTISSA_BITS);
}

/// The codes of a thread's two rows and of the columns of its VALUES totals.
template <int VALUES>
struct LineCodes {
  unsigned char rows[2];
  uchar2 columns[VALUES / 4];

  /// `first_row` and `first_column` are the codes from the thread's first element on.
  __device__ __forceinline__ LineCodes(const unsigned char* first_row, const unsigned char* first_column)
      : rows{first_row[0], first_row[8]} {
#pragma unroll
    for (int pair = 0; pair < VALUES / 4; ++pair) {
      columns[pair] = *reinterpret_cast<const uchar2*>(first_column + pair * 8);
    }
  }
};

/// Undoes the scaling of totals. They become Inf or NaN, so that their elements of C are computed again, if their row
/// or column has no scale, or if the product of both factors is no normal float. All other results are right: with
/// factors of a larger product they would be near Inf, and with one of a smaller product denormal.
template <int VALUES>
__device__ __forceinline__ void undo_scaling(const LineCodes<VALUES>& codes, float (&totals)[VALUES]) {
  constexpr float SMALLEST_NORMAL = 0x1p-126F;
  const float of_rows[2] = {undoing(codes.rows[0]), undoing(codes.rows[1])};
  float of_columns[VALUES / 2];
  float smallest = INFINITY;
#pragma unroll
  for (int i = 0; i < VALUES / 2; ++i) {
    of_columns[i] = undoing(i % 2 == 0 ? codes.columns[i / 2].x : codes.columns[i / 2].y);
    smallest = fminf(smallest, of_columns[i]);
  }
  if (smallest * fminf(of_rows[0], of_rows[1]) >= SMALLEST_NORMAL) {  // as good as always
#pragma unroll
    for (int i = 0; i < VALUES; ++i) {
      totals[i] *= of_rows[i / 2 % 2] * of_columns[i / 4 * 2 + i % 2];
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < VALUES; ++i) {
    const float factor = of_rows[i / 2 % 2] * of_columns[i / 4 * 2 + i % 2];
    totals[i] *= factor >= SMALLEST_NORMAL ? factor : NAN;
  }
}

}  // namespace int8
}  // namespace split_product
}  // namespace SGEMM_TARGET
}  // namespace sgemm
