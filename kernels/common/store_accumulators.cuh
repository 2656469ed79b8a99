#pragma once

// C from what tensor cores have summed, for chapters that split operands into terms or digits.

#include "common/problem.hpp"
#include "common/target.hpp"

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

namespace sgemm::SGEMM_TARGET {

/// The three sums of each element become one, in units of 2^28. Carries leave a byte of each of the two smaller sums,
/// so that a total of 24 bits or fewer is not rounded, and any other total is rounded twice.
template <int VALUES>
__device__ __forceinline__ void add_up(const int (&sums)[3][VALUES], float (&totals)[VALUES]) {
#pragma unroll
  for (int i = 0; i < VALUES; ++i) {
    const int middle = sums[1][i] + (sums[2][i] >> 8);
    const int high = sums[0][i] + (middle >> 8);
    // The two bytes that are left become the lowest ones of 2^23 as a float, which is 2^23 more than they are.
    const unsigned low = __byte_perm(__byte_perm(sums[2][i], middle, 0x40), __float_as_uint(0x1p23F), 0x7610);
    totals[i] = fmaf(static_cast<float>(high), 0x1p-12F, fmaf(__uint_as_float(low), 0x1p-28F, -0x1p-5F));
  }
}

/// Undoes the scales of a thread's totals, whose lines have their codes from `rows` and `columns` on: pairs in columns
/// 8 apart, in two rows 8 apart. The factor of a line is a float with the code as its exponent, and Inf where it has no
/// scale. A total becomes Inf or NaN then, and NaN where the product of both factors is no normal float.
template <int VALUES>
__device__ __forceinline__ void undo_scaling(const unsigned char* rows, const unsigned char* columns,
                                             float (&totals)[VALUES]) {
  const auto factor = [](unsigned code) { return __uint_as_float(code << 23U); };
  const float of_rows[2] = {factor(rows[0]), factor(rows[8])};
#pragma unroll
  for (int i = 0; i < VALUES; ++i) {
    const float both = of_rows[i / 2 % 2] * factor(columns[i / 4 * 8 + i % 2]);
    totals[i] *= both >= 0x1p-126F ? both : NAN;
  }
}

/// What is stored for a result. All NaN that doubles become have the same bits.
__device__ __forceinline__ float stored(float result) { return result; }
__device__ __forceinline__ float stored(double result) {
  const auto rounded = static_cast<float>(result);
  return rounded == rounded ? rounded : __uint_as_float(0x7FFFFFFF);
}

/// C = alpha * sums + beta * C for a thread's elements. They lie as wgmma and mma.sync leave them: pairs of neighbours
/// in columns 8 apart, in two rows 8 apart, from (first_row, first_col) on. sum(i) is a float or a double, and all
/// arithmetic is on such numbers. Elements whose sums are not finite are computed again without tensor cores, in the
/// order of k: no terms add up to Inf or NaN. Where `all_finite` all sums are finite, and so is alpha.
template <int VALUES, class Sum>
__device__ __forceinline__ void store_or_recompute(const Problem& p, std::int64_t first_row, std::int64_t first_col,
                                                   const Sum& sum, bool all_finite) {
  using Real = decltype(sum(0));
  const auto row_of = [](int i) { return i / 2 % 2 * 8; };  // of number i, from the first one on
  const auto column_of = [](int i) { return i / 4 * 8 + i % 2; };
  const auto update = [&](float& c, Real sum) {
    c = stored(p.beta == 0.0F ? p.alpha * sum : fma(Real{p.beta}, Real{c}, p.alpha * sum));
  };
  float* const c = p.c + first_row * p.ldc + first_col;
  float* const rows[2] = {c, c + 8 * p.ldc};
  const auto width = static_cast<int>(p.n - first_col < VALUES * 2 ? p.n - first_col : VALUES * 2);
  const int columns[2] = {first_row < p.m ? width : 0, first_row + 8 < p.m ? width : 0};
  const bool aligned = reinterpret_cast<std::uintptr_t>(p.c) % sizeof(float2) == 0 && p.ldc % 2 == 0;
  constexpr int LAST = VALUES / 4 * 8 - 7;  // column of the last one
  if (p.beta == 0.0F && aligned && columns[0] > LAST && columns[1] > LAST && all_finite) {
#pragma unroll
    for (int i = 0; i < VALUES; i += 2) {  // no store waits for a branch; one store, also on the executor
      const float2 pair{static_cast<float>(p.alpha * sum(i)), static_cast<float>(p.alpha * sum(i + 1))};
      *reinterpret_cast<float2*>(rows[i / 2 % 2] + column_of(i)) = pair;
    }
    return;
  }
  std::uint64_t again = 0;  // a bit for each
#pragma unroll
  for (int i = 0; i < VALUES; ++i) {
    if (column_of(i) < columns[i / 2 % 2]) {
      if (std::fabs(sum(i)) < INFINITY) {
        update(rows[i / 2 % 2][column_of(i)], sum(i));
      } else {
        again |= std::uint64_t{1} << static_cast<unsigned>(i);
      }
    }
  }
#pragma unroll 1
  for (int i = 0; again != 0; ++i, again >>= 1U) {
    if (again % 2 == 1) {
      const float* const a = p.a + (first_row + row_of(i)) * p.lda;
      const float* const b = p.b + first_col + column_of(i);
      Real total = 0;
      for (std::int64_t k = 0; k < p.k; ++k) {
        total = fma(Real{a[k]}, Real{b[k * p.ldb]}, total);
      }
      update(c[row_of(i) * p.ldc + column_of(i)], total);
    }
  }
}

/// The same for sums in floats.
template <int VALUES>
__device__ __forceinline__ void store_or_recompute(const Problem& p, std::int64_t first_row, std::int64_t first_col,
                                                   const float (&sums)[VALUES]) {
  float zero = 0.0F;
#pragma unroll
  for (int i = 0; i < VALUES; i += 2) {
    zero = fmaf(sums[i] + sums[i + 1], 0.0F, zero);  // NaN from the first pair on that is not finite
  }
  store_or_recompute<VALUES>(
      p, first_row, first_col, [&](int i) { return sums[i]; }, zero == 0.0F);
}

/// The same for a thread's part of the 128 x 128 elements of C from (tile_row, tile_col) on, of which each of eight
/// warps has 16 rows (ptx/wgmma.cuh).
__device__ __forceinline__ void store_tile_or_recompute(const Problem& p, std::int64_t tile_row, std::int64_t tile_col,
                                                        const float (&sums)[64]) {
  store_or_recompute(p, tile_row + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, tile_col + threadIdx.x % 4 * 2, sums);
}

}  // namespace sgemm::SGEMM_TARGET
