#pragma once

// What kernels that multiply operand tiles (split_product.cuh) do beside multiplying: which tile of C comes next, how
// far blocks may drift apart, how C is stored, and who computes elements that tensor cores can not. The library's other
// policies have the same members.

#include "common/ceil_div.hpp"
#include "common/epilogue.cuh"
#include "common/hilbert.hpp"
#include "common/problem.hpp"
#include "common/target.hpp"
#include "common/vector_access.cuh"
#include "engine/split_operands.cuh"
#include "engine/stream_k.cuh"

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

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

/// C = alpha * sums + beta * C for a thread's elements of one tile of B, the first at `first_row` and `first_col`.
/// They come in pairs of neighbours, which float2 stores in one access. If the sum of a pair is not finite, both
/// elements are the policy's to compute, because no terms add up to Inf or NaN.
template <class Policy, Access ACCESS, int VALUES>
__device__ __forceinline__ void store_sums(const typename Policy::Problem& p, std::int64_t first_row,
                                           std::int64_t first_col, const float (&sums)[VALUES]) {
  const Scalars scalars = Policy::scalars_of(p);
  float* const c = p.c + first_row * p.ldc + first_col;
  float* const rows[2] = {c, c + 8 * p.ldc};
  const int width = static_cast<int>(p.n - first_col < TILE_ROWS ? p.n - first_col : TILE_ROWS);
  const int columns[2] = {first_row < p.m ? width : 0, first_row + 8 < p.m ? width : 0};
  constexpr int SPAN = VALUES / 4 * 8 - 6;  // columns from the thread's first element to its last
  const bool whole = columns[0] >= SPAN && columns[1] >= SPAN;
  unsigned not_finite = 0;
  // Once for a beta of 0, so that not every pair asks for it.
  if (scalars.beta == 0.0F && whole && all_finite(sums)) {
    store_all_pairs<ACCESS>(rows, sums, {scalars.alpha, 0.0F});
  } else {
    not_finite = store_pairs<ACCESS>(rows, columns, sums, scalars);
  }
  Policy::recompute(p, first_row, first_col, not_finite, scalars);
}

/// Element (row, col) of A * B, by one thread, for the few elements that a kernel can not compute in its own way.
__device__ __forceinline__ float dot_product(const Problem& p, std::int64_t row, std::int64_t col) {
  float sum = 0.0F;
  for (std::int64_t k = 0; k < p.k; ++k) {
    sum += p.a[row * p.lda + k] * p.b[k * p.ldb + col];
  }
  return sum;
}

/// The plain policy: one product, whose scalars are arguments of the kernel. float2: rows of C split into
/// aligned pairs.
template <class Shape_, Access ACCESS>
struct OneProduct {
  using Shape = Shape_;            ///< of a block's tile
  using Problem = sgemm::Problem;  ///< what the kernel gets: a Problem, or something derived from it

  /// From how many rounds of whole tiles on blocks keep within a window of one another along k.
  static constexpr int FEWEST_ROUNDS_IN_WINDOW = 8 / Shape::B_TILES;  // measured: rounds of wider tiles are longer

  /// The tile number `position` of C: tiles lie along the Hilbert curve.
  __device__ __forceinline__ static Tile tile_at(const Problem& p, int position) {
    const auto b_all = static_cast<int>(tiles_along(p.n));
    const TileIndex index = hilbert_tile(position, static_cast<int>(tiles_along(p.m)), ceil_div(b_all, Shape::B_TILES));
    const int b_tile = index.col * Shape::B_TILES;
    return {index.row, b_tile, b_all - b_tile < Shape::B_TILES ? b_all - b_tile : Shape::B_TILES};
  }

  /// The kernel begins with it. A barrier of the block follows.
  __device__ __forceinline__ static void before_first_tile() {}

  /// Whether store() takes the sums of all tiles of B at a time.
  static constexpr bool STORES_ALL_TILES = false;

  /// Makes a thread's sums elements of C. `first_row` and `first_col` are the place of its first element.
  __device__ __forceinline__ static void store(const Problem& p, std::int64_t first_row, std::int64_t first_col,
                                               const float (&sums)[64]) {
    store_sums<OneProduct, ACCESS>(p, first_row, first_col, sums);
  }

  __device__ __forceinline__ static Scalars scalars_of(const Problem& p) { return {p.alpha, p.beta}; }

  /// Takes care of a thread's pairs that `not_finite` has a bit for, as store_sums() counts them. The thread computes
  /// them from A and B.
  __device__ __forceinline__ static void recompute(const Problem& p, std::int64_t first_row, std::int64_t first_col,
                                                   unsigned not_finite, const Scalars& scalars) {
#pragma unroll 1
    for (int pair = 0; not_finite != 0; ++pair, not_finite >>= 1U) {
      const std::int64_t row = first_row + pair % 2 * 8;
      const std::int64_t col = first_col + pair / 2 * 8;
#pragma unroll 1
      for (int j = 0; j < 2; ++j) {
        if (not_finite % 2 == 1 && row < p.m && col + j < p.n) {
          update(p.c[row * p.ldc + col + j], dot_product(p, row, col + j), scalars.alpha, scalars.beta);
        }
      }
    }
  }

  /// By consumers that have stored their last tile.
  __device__ __forceinline__ static void after_last_tile(const Problem&, const Schedule&) {}
};

}  // namespace sgemm::SGEMM_TARGET::split_product
