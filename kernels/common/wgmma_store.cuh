#pragma once

// C from the results of wgmma, for chapters that split operands into terms.

#include "common/problem.hpp"
#include "common/target.hpp"

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

namespace sgemm {
inline namespace SGEMM_TARGET {

/// alpha * sum + beta * c. C is not read when beta is 0.
__device__ __forceinline__ float updated(const Problem& p, float sum, const float& c) {
  return p.beta == 0.0F ? p.alpha * sum : std::fmaf(p.beta, c, p.alpha * sum);
}

/// C = alpha * sums + beta * C for a thread's part of the 128 x 128 elements of C from (tile_row, tile_col) on. Each of
/// eight warps has 16 rows. A thread holds pairs of neighbours, 8 rows or 8 columns apart (ptx/wgmma.cuh). If the sum
/// of a pair is not finite, the thread computes both elements again, without tensor cores: no terms add up to Inf or
/// NaN.
__device__ __forceinline__ void store_or_recompute(const Problem& p, std::int64_t tile_row, std::int64_t tile_col,
                                                   const float (&sums)[64]) {
  const std::int64_t first_row = tile_row + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
  const std::int64_t first_col = tile_col + threadIdx.x % 4 * 2;
  const bool aligned = reinterpret_cast<std::uintptr_t>(p.c) % sizeof(float2) == 0 && p.ldc % 2 == 0;
  unsigned not_finite = 0;  // a bit for each pair
#pragma unroll
  for (int pair = 0; pair < 32; ++pair) {
    const std::int64_t row = first_row + pair % 2 * 8;
    const std::int64_t col = first_col + pair / 2 * 8;
    const float* const values = &sums[2 * pair];
    float* const c = p.c + row * p.ldc + col;
    if (!(std::fabs(values[0] + values[1]) < INFINITY)) {
      not_finite |= 1U << static_cast<unsigned>(pair);
    } else if (row < p.m && col + 1 < p.n && aligned) {
      const float2 old = p.beta == 0.0F ? float2{} : *reinterpret_cast<const float2*>(c);
      const float2 pair_of_c{updated(p, values[0], old.x), updated(p, values[1], old.y)};
      *reinterpret_cast<float2*>(c) = pair_of_c;
    } else if (row < p.m && col < p.n) {
      c[0] = updated(p, values[0], c[0]);
      if (col + 1 < p.n) {
        c[1] = updated(p, values[1], c[1]);
      }
    }
  }
#pragma unroll 1
  for (int element = 0; not_finite != 0; ++element) {  // two for each pair
    const std::int64_t row = first_row + element / 2 % 2 * 8;
    const std::int64_t col = first_col + element / 4 * 8 + element % 2;
    if (not_finite % 2 == 1 && row < p.m && col < p.n) {
      float sum = 0.0F;
      for (std::int64_t k = 0; k < p.k; ++k) {
        sum += p.a[row * p.lda + k] * p.b[k * p.ldb + col];
      }
      float& c = p.c[row * p.ldc + col];
      c = updated(p, sum, c);
    }
    not_finite >>= element % 2;
  }
}

}  // namespace SGEMM_TARGET
}  // namespace sgemm
