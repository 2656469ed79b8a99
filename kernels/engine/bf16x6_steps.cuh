#pragma once

// The common parts of the steps of chapter 11 (11_bf16x6_1_wgmma.cu and following): the kernel before, which splits A
// and B into terms, and the store at the end. Their main loops are in their own files.

#include "common/ceil_div.hpp"
#include "common/epilogue.cuh"
#include "common/problem.hpp"
#include "common/target.hpp"
#include "common/tiling.cuh"
#include "engine/dot_product.cuh"
#include "ptx/cvt.cuh"
#include "ptx/wgmma.cuh"

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace sgemm {
inline namespace SGEMM_TARGET {
namespace bf16x6_steps {

constexpr int WARP = 32;
constexpr int TERMS = 3;        // BF16 numbers whose sum is a float
constexpr int BK = 64;          // elements along k in a row of 128 bytes
constexpr int TILE_ROWS = 128;  // rows of A or columns of B in a tile
constexpr int BF16_BYTES = 2;

/// A tile of an operand: TILE_ROWS rows of A or columns of B, by BK elements along k. Its terms follow one another,
/// each in the order in which wgmma reads shared memory.
constexpr int TERM_BYTES = TILE_ROWS * WGMMA_ROW_BYTES;
constexpr int TILE_BYTES = TERMS * TERM_BYTES;

/// A product of terms, counted from the largest, 0.
struct Product {
  int a;
  int b;
};
/// The six of nine products that count. The smallest come first: tensor cores cut off less while a sum is small.
constexpr int PRODUCTS = 6;
__device__ constexpr Product product(int i) {
  constexpr Product ORDER[PRODUCTS] = {{2, 0}, {0, 2}, {1, 1}, {1, 0}, {0, 1}, {0, 0}};
  return ORDER[i];
}

/// All tiles of A and B in global memory. Tiles with the same rows or columns follow one another along k.
struct SplitOperands {
  int k_tiles;  ///< at least one; it holds zeros if K is 0
  int a_tiles;  ///< tiles of A side by side along M
  int b_tiles;  ///< tiles of B side by side along N
  unsigned char* memory;

  static SplitOperands of(const Problem& p, void* memory) {
    return {p.k == 0 ? 1 : static_cast<int>(ceil_div<std::int64_t>(p.k, BK)),
            static_cast<int>(ceil_div<std::int64_t>(p.m, TILE_ROWS)),
            static_cast<int>(ceil_div<std::int64_t>(p.n, TILE_ROWS)), static_cast<unsigned char*>(memory)};
  }
  std::int64_t tiles() const { return static_cast<std::int64_t>(a_tiles + b_tiles) * k_tiles; }
  std::size_t bytes() const { return static_cast<std::size_t>(tiles()) * TILE_BYTES; }
  /// The first tile along k of some rows of A (a) or some columns of B (b). The next ones follow at distances of
  /// TILE_BYTES.
  __device__ const unsigned char* a(int tile) const {
    return memory + static_cast<std::int64_t>(tile) * k_tiles * TILE_BYTES;
  }
  __device__ const unsigned char* b(int tile) const { return a(a_tiles + tile); }
};

// ---- The kernel that splits ----

constexpr int SPLIT_THREADS = 256;

/// `x`, or NaN if |x| lies between 0 and 2^-100, where the third term could be denormal and lose bits. Elements of C
/// that are not finite are computed again.
__device__ __forceinline__ float with_three_terms(float x) { return x == 0.0F || std::fabs(x) >= 0x1p-100F ? x : NAN; }

/// Splits a tile of A or B in each block. Columns of B become rows, and elements outside the matrices zeros.
__device__ __forceinline__ void split(const Problem& p, const SplitOperands& operands) {
  __shared__ float x[TILE_ROWS][BK + 1];  // padded by a bank, as B's columns are stored here
  const int row_tile = static_cast<int>(blockIdx.x) / operands.k_tiles;
  const std::int64_t first_k = static_cast<std::int64_t>(blockIdx.x) % operands.k_tiles * BK;
  const bool of_a = row_tile < operands.a_tiles;
  const std::int64_t first_row = static_cast<std::int64_t>(of_a ? row_tile : row_tile - operands.a_tiles) * TILE_ROWS;
  const std::int64_t rows = of_a ? p.m : p.n;

  // Neighbouring threads read neighbours: along k in A, along columns in B.
  const int thread = static_cast<int>(threadIdx.x);
  int row = of_a ? thread / BK : thread % TILE_ROWS;
  int k = of_a ? thread % BK : thread / TILE_ROWS;
  const int row_step = of_a ? SPLIT_THREADS / BK : 0;
  const int k_step = of_a ? 0 : SPLIT_THREADS / TILE_ROWS;
  const float* source =
      of_a ? p.a + (first_row + row) * p.lda + first_k + k : p.b + (first_k + k) * p.ldb + first_row + row;
  const std::int64_t step = row_step * p.lda + k_step * p.ldb;
#pragma unroll 8
  for (int i = 0; i < TILE_ROWS * BK / SPLIT_THREADS; ++i) {
    x[row][k] = with_three_terms(load_or_zero(source, first_row + row < rows && first_k + k < p.k));
    source += step;
    row += row_step;
    k += k_step;
  }
  __syncthreads();

  // Eight elements along k make 16 bytes of each term. A term is the rounded rest that the terms before it leave.
  unsigned char* const tile = operands.memory + static_cast<std::int64_t>(blockIdx.x) * TILE_BYTES;
#pragma unroll
  for (int first = 0; first < TILE_ROWS * BK / 8; first += SPLIT_THREADS) {
    const int i = first + thread;
    const float* const eight = &x[i * 8 / BK][i * 8 % BK];
    unsigned terms[TERMS][4];
#pragma unroll
    for (int pair = 0; pair < 4; ++pair) {
      float low = eight[2 * pair];
      float high = eight[2 * pair + 1];
#pragma unroll
      for (int term = 0; term < TERMS; ++term) {
        terms[term][pair] = Bf16::pack(low, high);
        const float2 rounded = Bf16::unpack(terms[term][pair]);
        low -= rounded.x;
        high -= rounded.y;
      }
    }
#pragma unroll
    for (int term = 0; term < TERMS; ++term) {
      *reinterpret_cast<uint4*>(tile + term * TERM_BYTES + swizzled(i * 16)) =
          uint4{terms[term][0], terms[term][1], terms[term][2], terms[term][3]};
    }
  }
}

// ---- The store ----

/// C = alpha * sums + beta * C for a thread's part of 128 x 128 elements of C. Each of eight warps has 16 rows. A
/// thread holds pairs of neighbours, 8 rows or 8 columns apart. If the sum of a pair is not finite, both elements are
/// computed again without tensor cores, because no terms add up to Inf or NaN.
__device__ __forceinline__ void store(const Problem& p, int row_tile, int column_tile, const float (&sums)[64]) {
  const std::int64_t first_row =
      static_cast<std::int64_t>(row_tile) * TILE_ROWS + threadIdx.x / WARP * 16 + threadIdx.x % WARP / 4;
  const std::int64_t first_col = static_cast<std::int64_t>(column_tile) * TILE_ROWS + threadIdx.x % 4 * 2;
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
      update2(c, values, p.alpha, p.beta);
    } else if (row < p.m && col < p.n) {
      update(c[0], values[0], p.alpha, p.beta);
      if (col + 1 < p.n) {
        update(c[1], values[1], p.alpha, p.beta);
      }
    }
  }
#pragma unroll 1
  for (int pair = 0; not_finite != 0; ++pair, not_finite >>= 1U) {
    const std::int64_t row = first_row + pair % 2 * 8;
    const std::int64_t col = first_col + pair / 2 * 8;
#pragma unroll 1
    for (int j = 0; j < 2; ++j) {
      if (not_finite % 2 == 1 && row < p.m && col + j < p.n) {
        update(p.c[row * p.ldc + col + j], dot_product(p, row, col + j), p.alpha, p.beta);
      }
    }
  }
}

}  // namespace bf16x6_steps
}  // namespace SGEMM_TARGET
}  // namespace sgemm
