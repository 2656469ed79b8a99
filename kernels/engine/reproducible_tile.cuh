#pragma once

// A tile of C from exact sums of products of digits (sm_90a): what chapter 15 and the library's kernels of its class
// have behind the main loop. Chapter 15 explains this code.

#include "common/keep_in_register.cuh"
#include "common/problem.hpp"
#include "common/target.hpp"
#include "common/vector_access.cuh"
#include "engine/int8_operands.cuh"
#include "engine/int8_product.cuh"
#include "engine/product_policy.cuh"
#include "engine/reproducible.cuh"
#include "engine/split_operands.cuh"
#include "engine/split_product.cuh"
#include "engine/split_schemes.cuh"
#include "engine/stream_k.cuh"

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

namespace sgemm {
inline namespace SGEMM_TARGET {
namespace reproducible {

using split_product::Int8x6;
using split_product::TILE_ROWS;
using split_product::int8::DigitSums;
using Partial = split_product::PartialSumsOf<split_product::int8::Shape, Sum>;
using Workspace = split_product::Workspace<Int8x6>;

/// Sum number `i` of a thread's 64, from its sums of each power of 256. Nothing is rounded. It is computed where it is
/// used: 64 of them would take more registers than there are.
__device__ __forceinline__ Sum total(const DigitSums& sums, int i) {
  return Sum{static_cast<int>(keep_in_register(static_cast<unsigned>(sums[0][i])))} * 65536 + Sum{sums[1][i]} * 256 +
         sums[2][i];
}

/// The codes of the scales of a tile of C, those of its 128 rows or of its 128 columns.
__device__ __forceinline__ const unsigned char* row_codes(const Workspace& workspace, int tile) {
  return workspace.scaling(std::int64_t{tile} * workspace.k_tiles())->rows;
}
__device__ __forceinline__ const unsigned char* column_codes(const Workspace& workspace, int tile) {
  return row_codes(workspace, workspace.a_tiles() + tile);
}
constexpr int NONE = split_product::int8::UNSCALABLE_LINE;

/// Makes a thread's sums elements of C, and returns a bit for each pair with an element whose row or column has no
/// scale. These elements are left out. `total_of(i)` is sum number i. float2: rows of C split into aligned pairs.
/// PLAIN: beta is 0, and alpha is finite.
template <Access ACCESS, bool PLAIN, class TotalOf>
__device__ __forceinline__ unsigned store_pairs(const Problem& p, const Workspace& workspace,
                                                const split_product::TilePlace& tile,
                                                const split_product::Scalars& scalars, const TotalOf& total_of) {
  const int row_in_tile = split_product::first_row(threadIdx.x);
  const int column_in_tile = split_product::first_column(threadIdx.x);
  const std::int64_t first_row = std::int64_t{tile.a} * TILE_ROWS + row_in_tile;
  const std::int64_t first_col = std::int64_t{tile.b} * TILE_ROWS + column_in_tile;
  float* const c = p.c + first_row * p.ldc + first_col;
  float* const rows[2] = {c, c + 8 * p.ldc};
  const int width = static_cast<int>(p.n - first_col < TILE_ROWS ? p.n - first_col : TILE_ROWS);
  const int columns[2] = {first_row < p.m ? width : 0, first_row + 8 < p.m ? width : 0};
  const unsigned char* const of_rows = row_codes(workspace, tile.a) + row_in_tile;
  const unsigned char* const of_columns = reinterpret_cast<const unsigned char*>(
      keep_in_register(reinterpret_cast<const float*>(column_codes(workspace, tile.b) + column_in_tile)));
  const int codes_of_rows[2] = {of_rows[0], of_rows[8]};
  const double row_factors[2] = {scalars.alpha * undoing(codes_of_rows[0]), scalars.alpha * undoing(codes_of_rows[1])};
  unsigned left_out = 0;
#pragma unroll
  for (int pair = 0; pair < 32; ++pair) {
    const int column = pair / 2 * 8;
    const uchar2 codes = *reinterpret_cast<const uchar2*>(of_columns + column);
    const int left = columns[pair % 2] - column;
    const bool scalable[2] = {codes_of_rows[pair % 2] != NONE && codes.x != NONE,
                              codes_of_rows[pair % 2] != NONE && codes.y != NONE};
    const bool both = scalable[0] && scalable[1];
    const double products[2] = {product(total_of(2 * pair), row_factors[pair % 2], undoing(codes.x)),
                                product(total_of(2 * pair + 1), row_factors[pair % 2], undoing(codes.y))};
    float* const to = rows[pair % 2] + column;
    if (ACCESS == Access::float2 && both && left > 0) {
      const float2 old = PLAIN || scalars.beta == 0.0F ? float2{} : *reinterpret_cast<const float2*>(to);
      *reinterpret_cast<float2*>(to) =
          float2{updated<PLAIN>(products[0], scalars.beta, old.x), updated<PLAIN>(products[1], scalars.beta, old.y)};
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if ((ACCESS != Access::float2 || !both) && scalable[i] && i < left) {
        to[i] = updated<PLAIN>(products[i], scalars.beta, PLAIN || scalars.beta == 0.0F ? 0.0F : to[i]);
      }
    }
    left_out |= both ? 0 : 1U << static_cast<unsigned>(pair);
  }
  return left_out;
}

/// Makes a thread's sums elements of C. Those of rows and columns without a scale are the policy's to compute.
template <class Policy, Access ACCESS, class TotalOf>
__device__ __forceinline__ void store(const typename Policy::Problem& p, const Workspace& workspace,
                                      const split_product::TilePlace& tile, const TotalOf& total_of) {
  const split_product::Scalars scalars = Policy::scalars_of(p);
  const bool plain = scalars.beta == 0.0F && std::fabs(scalars.alpha) < INFINITY;
  const unsigned left_out = plain ? store_pairs<ACCESS, true>(p, workspace, tile, scalars, total_of)
                                  : store_pairs<ACCESS, false>(p, workspace, tile, scalars, total_of);
  Policy::recompute(p, workspace, tile, left_out);
}

/// The policy of the chapter: that of 11, 12 and 13, but for what becomes of sums.
template <class Shape, Access ACCESS>
struct OneProduct : split_product::OneProduct<Shape, ACCESS> {
  using typename split_product::OneProduct<Shape, ACCESS>::Problem;

  template <class TotalOf>
  __device__ __forceinline__ static void store(const Problem& p, const Workspace& workspace,
                                               const split_product::TilePlace& tile, const TotalOf& total_of) {
    reproducible::store<OneProduct, ACCESS>(p, workspace, tile, total_of);
  }

  /// Computes the elements that store_pairs() has left out.
  __device__ __forceinline__ static void recompute(const Problem& p, const Workspace& workspace,
                                                   const split_product::TilePlace& tile, unsigned left_out) {
#pragma unroll 1
    for (int pair = 0; left_out != 0; ++pair, left_out >>= 1U) {
#pragma unroll 1
      for (int i = 0; i < 2 && left_out % 2 == 1; ++i) {
        const int row_in_tile = split_product::first_row(threadIdx.x) + pair % 2 * 8;
        const int column_in_tile = split_product::first_column(threadIdx.x) + pair / 2 * 8 + i;
        const std::int64_t row = std::int64_t{tile.a} * TILE_ROWS + row_in_tile;
        const std::int64_t col = std::int64_t{tile.b} * TILE_ROWS + column_in_tile;
        if (row < p.m && col < p.n &&
            (row_codes(workspace, tile.a)[row_in_tile] == NONE ||
             column_codes(workspace, tile.b)[column_in_tile] == NONE)) {
          float& c = p.c[row * p.ldc + col];
          c = updated<false>(p.alpha * sum_in_order(p, row, col), p.beta, p.beta == 0.0F ? 0.0F : c);
        }
      }
    }
  }
};

}  // namespace reproducible
}  // namespace SGEMM_TARGET
}  // namespace sgemm
