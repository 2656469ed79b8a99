#pragma once

// A tile of C from exact sums of products of digits (sm_90a): what the kernels of the reproducible class have behind
// the main loop. Chapter 15 has the same results by doubles alone.

#include "common/keep_in_register.cuh"
#include "common/problem.hpp"
#include "common/target.hpp"
#include "common/vector_access.cuh"
#include "engine/int8_operands.cuh"
#include "engine/product_policy.cuh"
#include "engine/reproducible.cuh"
#include "engine/split_configurations.cuh"
#include "engine/split_operands.cuh"
#include "engine/split_product.cuh"
#include "engine/stream_k.cuh"

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace sgemm::SGEMM_TARGET {
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

}  // namespace int8
}  // namespace split_product

namespace reproducible {

using split_product::Int8x6;
using split_product::TILE_ROWS;
using split_product::TilePlace;
using split_product::WARP;
using split_product::int8::DigitSums;
using Workspace = split_product::Workspace<Int8x6>;

/// A thread's sums of a tile of C, in halves: whole ones would need pairs of registers side by side.
struct Sums {
  int high[64];
  unsigned low[64];

  __device__ Sum operator[](int i) const { return static_cast<Sum>(high[i]) << 32 | low[i]; }
};
/// The sums of each power of 256 become one. Nothing is rounded: a byte of each smaller sum stays, and the rest is
/// carried into the next larger one.
__device__ __forceinline__ void add_up(const DigitSums& digits, Sums& sums) {
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    const int middle = digits[1][i] + (digits[2][i] >> 8);
    const int high = digits[0][i] + (middle >> 8);
    sums.high[i] = high >> 16;
    sums.low[i] = static_cast<unsigned>(high) << 16U | (static_cast<unsigned>(middle) & 0xFFU) << 8U |
                  (static_cast<unsigned>(digits[2][i]) & 0xFFU);
  }
}

/// Partial sums as of PartialSums, in halves.
struct Partial : PartialSums<split_product::int8::Shape::CONSUMER_WARPS, 1, 2 * 64> {
  using PartialSums::PartialSums;

  __device__ __forceinline__ void put(const Sums& sums) const {
#pragma unroll
    for (int i = 0; i < 64; i += 2) {
      __stcg(reinterpret_cast<uint4*>(place(i / 2)), uint4{sums.low[i], static_cast<unsigned>(sums.high[i]),
                                                           sums.low[i + 1], static_cast<unsigned>(sums.high[i + 1])});
    }
  }
  __device__ __forceinline__ void publish(const Sums& sums) const {
    put(sums);
    announce();
  }
  __device__ __forceinline__ void add_to(Sums& sums) const {
#pragma unroll
    for (int i = 0; i < 64; i += 2) {
      const uint4 other = __ldcg(reinterpret_cast<const uint4*>(place(i / 2)));
      const unsigned low[2] = {other.x, other.z};
      const unsigned high[2] = {other.y, other.w};
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        sums.low[i + j] += low[j];
        sums.high[i + j] += static_cast<int>(high[j] + (sums.low[i + j] < low[j] ? 1U : 0U));
      }
    }
  }
};

/// The codes of the scales of a tile of C, those of its 128 rows or of its 128 columns.
__device__ __forceinline__ const unsigned char* row_codes(const Workspace& workspace, int tile) {
  return workspace.scaling(std::int64_t{tile} * workspace.k_tiles())->rows;
}
__device__ __forceinline__ const unsigned char* column_codes(const Workspace& workspace, int tile) {
  return row_codes(workspace, workspace.a_tiles() + tile);
}
constexpr int NONE = split_product::int8::UNSCALABLE_LINE;

/// The codes of a thread's two rows of a tile of C, and those of four of its columns. A warp has all columns together.
/// They take two registers, and so they can be read before the sums are added up, which takes as long as memory does.
struct CodesOfWarp {
  TilePlace tile{};
  unsigned rows = 0;
  unsigned columns = 0;

  CodesOfWarp() = default;
  __device__ __forceinline__ CodesOfWarp(const Workspace& workspace, const TilePlace& of)
      : tile(of), columns(reinterpret_cast<const unsigned*>(column_codes(workspace, of.b))[threadIdx.x % WARP]) {
    const unsigned char* const first = row_codes(workspace, of.a) + split_product::first_row(threadIdx.x);
    rows = first[0] | static_cast<unsigned>(first[8]) << 8U;
  }
};

/// The codes of a thread's two rows and 32 columns.
class Codes {
 public:
  /// By all lanes of a warp.
  __device__ __forceinline__ explicit Codes(const CodesOfWarp& warp)
      : tile_(warp.tile), rows_{static_cast<int>(warp.rows & 0xFFU), static_cast<int>(warp.rows >> 8U)} {
    const unsigned lane = threadIdx.x % WARP;
#pragma unroll
    for (int pair = 0; pair < 16; ++pair) {
      const unsigned four = __shfl_sync(~0U, warp.columns, static_cast<int>(pair * 2 + lane % 4 / 2));
      const unsigned codes = four >> lane % 2 * 16U & 0xFFFFU;
      columns_[pair / 2] = pair % 2 == 0 ? codes : columns_[pair / 2] | codes << 16U;
    }
  }

  __device__ const TilePlace& tile() const { return tile_; }
  __device__ int row(int i) const { return rows_[i]; }
  __device__ int column(int i) const { return static_cast<int>(columns_[i / 4] >> 8U * (i % 4) & 0xFFU); }

  /// Whether floats do: rows from 92 to 171 and columns from 64 to 191, whose codes have one of their two upper bits. A
  /// sum other than 0 then lies above 2^-126, and one below 2^46 below 2^127.
  __device__ __forceinline__ bool take_floats() const {
    unsigned all = 0x80808080U;
#pragma unroll
    for (const unsigned x : columns_) {
      all &= x ^ x << 1U;
    }
    return all == 0x80808080U && rows_[0] >= 92 && rows_[0] <= 171 && rows_[1] >= 92 && rows_[1] <= 171;
  }

  /// Whether all rows and columns have a scale.
  __device__ __forceinline__ bool all_scalable() const {
    unsigned any = 0;  // upper bits of bytes that are NONE: of x, the zeros in ~x
#pragma unroll
    for (const unsigned x : columns_) {
      any |= (~x - 0x01010101U) & x & 0x80808080U;
    }
    return any == 0 && rows_[0] != NONE && rows_[1] != NONE;
  }

 private:
  TilePlace tile_;
  int rows_[2];
  unsigned columns_[8];
};

/// How sums become elements of C.
enum class Step {
  floats,   ///< beta is 0, alpha 1 or -1, sums lie below 2^46, and floats take the scales: all but one step is exact
  doubles,  ///< as the definition says
  some_scalable,  ///< the same, and some rows or columns have no scale
};

/// What undoing() tells, as a float: for codes above 14.
__device__ __forceinline__ float float_undoing(int code) {
  constexpr int BELOW = split_product::int8::LARGEST_EXPONENT - 8 - EXPONENT_BIAS;
  return __uint_as_float(static_cast<unsigned>(code - BELOW) << MANTISSA_BITS);
}

/// A sum as a float, rounded once: two parts of 23 bits are floats, and a multiply-add joins them.
__device__ __forceinline__ float to_float(int high, unsigned low) {
  const auto upper = static_cast<int>(static_cast<unsigned>(high) << 9U | low >> 23U);
  return fmaf(static_cast<float>(upper), 0x1p23F, static_cast<float>(static_cast<int>(low & 0x7FFFFFU)));
}

/// Makes a thread's sums elements of C, and returns a bit for each pair of neighbours with an element whose row or
/// column has no scale. These elements are left out. float2: rows of C split into aligned pairs.
template <Access ACCESS, Step STEP>
__device__ __forceinline__ unsigned store_pairs(const Problem& p, const Codes& codes,
                                                const split_product::Scalars& scalars, const Sums& sums) {
  constexpr bool PAIRS = ACCESS == Access::float2 && STEP != Step::some_scalable;
  constexpr int BATCH = 4;  // pairs that are computed together, so that none waits for the one before it
  const std::int64_t first_row = std::int64_t{codes.tile().a} * TILE_ROWS + split_product::first_row(threadIdx.x);
  const std::int64_t first_col = std::int64_t{codes.tile().b} * TILE_ROWS + split_product::first_column(threadIdx.x);
  float* const c = p.c + first_row * p.ldc + first_col;
  float* const rows[2] = {c, c + 8 * p.ldc};
  const int width = static_cast<int>(p.n - first_col < TILE_ROWS ? p.n - first_col : TILE_ROWS);
  const int columns[2] = {first_row < p.m ? width : 0, first_row + 8 < p.m ? width : 0};
  const double row_factors[2] = {scalars.alpha * undoing(codes.row(0)), scalars.alpha * undoing(codes.row(1))};
  const float row_floats[2] = {scalars.alpha * float_undoing(codes.row(0)),
                               scalars.alpha * float_undoing(codes.row(1))};
  unsigned left_out = 0;
#pragma unroll
  for (int first = 0; first < 32; first += BATCH) {
    float values[BATCH][2] = {};
    bool stored[BATCH][2];
#pragma unroll
    for (int i = 0; i < BATCH; ++i) {
      const int pair = first + i;
      const int left = columns[pair % 2] - pair / 2 * 8;
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const bool scalable =
            STEP != Step::some_scalable || (codes.row(pair % 2) != NONE && codes.column(pair / 2 * 2 + j) != NONE);
        stored[i][j] = scalable && j < left;
        left_out |= scalable ? 0 : 1U << static_cast<unsigned>(pair);
      }
      if (STEP != Step::floats && scalars.beta != 0.0F) {
        const float* const from = rows[pair % 2] + pair / 2 * 8;
        if (PAIRS && stored[i][0]) {
          const float2 both = *reinterpret_cast<const float2*>(from);
          values[i][0] = both.x;
          values[i][1] = both.y;
        } else {
          values[i][0] = stored[i][0] ? from[0] : 0.0F;
          values[i][1] = stored[i][1] ? from[1] : 0.0F;
        }
      }
    }
#pragma unroll
    for (int i = 0; i < 2 * BATCH; ++i) {
      const int element = 2 * first + i;
      const int row = element / 2 % 2;
      const int code_of_column = codes.column(element / 4 * 2 + element % 2);
      float value = 0.0F;
      if (STEP == Step::floats) {
        value = to_float(sums.high[element], sums.low[element]) * row_floats[row] * float_undoing(code_of_column);
      } else {
        value = updated<false>(product(sums[element], row_factors[row], undoing(code_of_column)), scalars.beta,
                               values[i / 2][i % 2]);
      }
      // Otherwise the compiler would compute each pair for itself, where it is known that it is stored.
      values[i / 2][i % 2] = __uint_as_float(keep_in_register(__float_as_uint(value)));
    }
#pragma unroll
    for (int i = 0; i < BATCH; ++i) {
      float* const to = rows[i % 2] + (first + i) / 2 * 8;
      if (PAIRS && stored[i][0]) {
        *reinterpret_cast<float2*>(to) = float2{values[i][0], values[i][1]};
      }
#pragma unroll
      for (int j = 0; j < 2 && !PAIRS; ++j) {
        if (stored[i][j]) {
          to[j] = values[i][j];
        }
      }
    }
  }
  return left_out;
}

/// Makes a thread's sums elements of C. Those of rows and columns without a scale are the policy's to compute.
template <class Policy, Access ACCESS>
__device__ __forceinline__ void store(const typename Policy::Problem& p, const Workspace& workspace,
                                      const CodesOfWarp& codes_of_warp, const Sums& sums) {
  const split_product::Scalars scalars = Policy::scalars_of(p);
  const Codes codes(codes_of_warp);
  unsigned left_out = 0;
  if (scalars.beta == 0.0F && std::fabs(scalars.alpha) == 1.0F && codes.take_floats() &&
      workspace.k_tiles() <= split_product::int8::MOST_K_TILES) {
    store_pairs<ACCESS, Step::floats>(p, codes, scalars, sums);
  } else if (codes.all_scalable()) {
    store_pairs<ACCESS, Step::doubles>(p, codes, scalars, sums);
  } else {
    left_out = store_pairs<ACCESS, Step::some_scalable>(p, codes, scalars, sums);
  }
  Policy::recompute(p, workspace, codes.tile(), left_out);
}

}  // namespace reproducible
}  // namespace sgemm::SGEMM_TARGET
