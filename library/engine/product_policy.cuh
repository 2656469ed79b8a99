#pragma once

// What policies have in common. A policy is what kernels that multiply operand tiles (split_product.cuh) do beside
// multiplying: which tile of C comes next, how far blocks may drift apart, how C is stored, and who computes elements
// that tensor cores can not. OneGemm (deferred_elements.cuh) says what its members do.

#include "common/epilogue.cuh"
#include "common/target.hpp"
#include "common/vector_access.cuh"

#include <cuda_runtime.h>

#include <cmath>

namespace sgemm::SGEMM_TARGET::split_product {

/// A tile of C, by the numbers of its operand tiles along M and N.
struct Tile {
  int a;
  int b;        ///< the first
  int b_tiles;  ///< fewer than the shape's B_TILES at the right edge of C
};

struct Scalars {
  float alpha;
  float beta;
};

/// Updates two neighbouring elements at `c`, which is aligned to 8 bytes, with 64-bit accesses.
__device__ __forceinline__ void update2(float* c, const float* sums, float alpha, float beta) {
  float2* const destination = reinterpret_cast<float2*>(c);
  float2 value{alpha * sums[0], alpha * sums[1]};
  if (beta != 0.0F) {
    const float2 old = *destination;
    value.x = fmaf(beta, old.x, value.x);
    value.y = fmaf(beta, old.y, value.y);
  }
  *destination = value;
}

/// Stores a pair of neighbours, of which C has `columns`.
template <Access ACCESS>
__device__ __forceinline__ void store_pair(float* c, const float (&values)[2], int columns, const Scalars& scalars) {
  if (ACCESS == Access::float2) {
    update2(c, values, scalars.alpha, scalars.beta);
  } else {
    update(c[0], values[0], scalars.alpha, scalars.beta);
    if (columns > 1) {
      update(c[1], values[1], scalars.alpha, scalars.beta);
    }
  }
}

/// Whether the sums of all pairs are finite.
template <int VALUES>
__device__ __forceinline__ bool all_finite(const float (&sums)[VALUES]) {
  float zero = 0.0F;
#pragma unroll
  for (int i = 0; i < VALUES; i += 2) {
    zero = fmaf(sums[i] + sums[i + 1], 0.0F, zero);  // NaN from the first pair on that is not finite
  }
  return zero == 0.0F;
}

/// Stores a thread's pairs whose sums are finite, and returns a bit for each of the others. `rows` are the addresses of
/// its first elements in two rows of C, and `columns` how many columns C has from there on.
template <Access ACCESS, int VALUES>
__device__ __forceinline__ unsigned store_pairs(float* const (&rows)[2], const int (&columns)[2],
                                                const float (&sums)[VALUES], const Scalars& scalars) {
  unsigned not_finite = 0;
#pragma unroll
  for (int pair = 0; pair < VALUES / 2; ++pair) {
    const int column = pair / 2 * 8;
    const float values[2] = {sums[2 * pair], sums[2 * pair + 1]};
    if (!(std::fabs(values[0] + values[1]) < INFINITY)) {
      not_finite |= 1U << static_cast<unsigned>(pair);
    } else if (column < columns[pair % 2]) {
      store_pair<ACCESS>(rows[pair % 2] + column, values, columns[pair % 2] - column, scalars);
    }
  }
  return not_finite;
}

/// store_pairs() of finite sums, all within C: no store waits for a branch.
template <Access ACCESS, int VALUES>
__device__ __forceinline__ void store_all_pairs(float* const (&rows)[2], const float (&sums)[VALUES],
                                                const Scalars& scalars) {
#pragma unroll
  for (int pair = 0; pair < VALUES / 2; ++pair) {
    store_pair<ACCESS>(rows[pair % 2] + pair / 2 * 8, {sums[2 * pair], sums[2 * pair + 1]}, 2, scalars);
  }
}

}  // namespace sgemm::SGEMM_TARGET::split_product
