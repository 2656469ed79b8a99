#pragma once

// The splitting that chapter 11 and the steps to it have in common.

#include "common/ceil_div.hpp"
#include "common/problem.hpp"
#include "common/target.hpp"
#include "ptx/cvt.cuh"
#include "ptx/wgmma.cuh"

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace sgemm::SGEMM_TARGET::bf16_terms {

constexpr int BK = 64;          // elements along k in a row of 128 bytes
constexpr int TILE_ROWS = 128;  // rows of A or columns of B in an operand tile
constexpr int TERMS = 3;        // BF16 numbers whose sum is a float
constexpr int TERM_BYTES = TILE_ROWS * WGMMA_ROW_BYTES;
constexpr int TILE_BYTES = TERMS * TERM_BYTES;
constexpr int SPLIT_THREADS = 256;

/// All operand tiles in global memory. Those of the same rows of A, or columns of B, follow one another along k. Behind
/// them is how many k-tiles all blocks together have begun to copy.
struct Operands {
  int k_tiles;  ///< at least one; it holds zeros if K is 0
  int a_tiles;  ///< tiles of A side by side along M
  int b_tiles;  ///< tiles of B side by side along N
  unsigned char* memory;

  static Operands of(const Problem& p, void* memory) {
    const auto tiles = [](std::int64_t size, int of) { return static_cast<int>(ceil_div<std::int64_t>(size, of)); };
    auto* const bytes = static_cast<unsigned char*>(memory);
    return {p.k == 0 ? 1 : tiles(p.k, BK), tiles(p.m, TILE_ROWS), tiles(p.n, TILE_ROWS), bytes};
  }
  std::size_t count() const { return (static_cast<std::size_t>(a_tiles) + b_tiles) * k_tiles; }
  std::size_t bytes() const { return count() * TILE_BYTES + sizeof(unsigned); }
  __device__ unsigned char* tile(int i, int k) const { return memory + (std::int64_t{i} * k_tiles + k) * TILE_BYTES; }
  __device__ unsigned* progress() const { return reinterpret_cast<unsigned*>(tile(a_tiles + b_tiles, 0)); }
};

/// Splits a tile of A or B in each block of SPLIT_THREADS. Columns of B become rows, and elements outside the matrices
/// zeros.
__device__ __forceinline__ void split_tile(const Problem& p, const Operands& operands) {
  __shared__ float x[TILE_ROWS][BK + 1];  // padded by a bank, as B's columns are stored here
  const int thread = static_cast<int>(threadIdx.x);
  const int row_tile = static_cast<int>(blockIdx.x) / operands.k_tiles;
  const int k_tile = static_cast<int>(blockIdx.x) % operands.k_tiles;
  const std::int64_t first_k = std::int64_t{k_tile} * BK;
  const bool of_a = row_tile < operands.a_tiles;
  const std::int64_t first_row = std::int64_t{of_a ? row_tile : row_tile - operands.a_tiles} * TILE_ROWS;

  // Neighbouring threads read neighbours: along k in A, along columns in B.
  int row = of_a ? thread / BK : thread % TILE_ROWS;
  int k = of_a ? thread % BK : thread / TILE_ROWS;
  const float* source =
      of_a ? p.a + (first_row + row) * p.lda + first_k + k : p.b + (first_k + k) * p.ldb + first_row + row;
  const std::int64_t step = of_a ? SPLIT_THREADS / BK * p.lda : SPLIT_THREADS / TILE_ROWS * p.ldb;
#pragma unroll 16
  for (int i = 0; i < TILE_ROWS * BK / SPLIT_THREADS; ++i) {
    const float value = first_row + row < (of_a ? p.m : p.n) && first_k + k < p.k ? *source : 0.0F;
    // The third term of a smaller number could be denormal and lose bits.
    x[row][k] = value == 0.0F || std::fabs(value) >= 0x1p-100F ? value : NAN;
    source += step;
    row += of_a ? SPLIT_THREADS / BK : 0;
    k += of_a ? 0 : SPLIT_THREADS / TILE_ROWS;
  }
  __syncthreads();

  // Eight neighbouring threads have a row. Eight elements along k make 16 bytes of each term.
  k = thread % 8 * 8;
#pragma unroll
  for (int first = 0; first < TILE_ROWS; first += SPLIT_THREADS / 8) {
    row = first + thread / 8;
    unsigned terms[TERMS][4];
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
      float2 rest{x[row][k + i], x[row][k + i + 1]};
#pragma unroll
      for (int term = 0; term < TERMS; ++term) {  // the rest that the terms before it leave, rounded
        terms[term][i / 2] = Bf16::pack(rest.x, rest.y);
        const float2 rounded = Bf16::unpack(terms[term][i / 2]);
        rest = {rest.x - rounded.x, rest.y - rounded.y};
      }
    }
#pragma unroll
    for (int term = 0; term < TERMS; ++term) {
      unsigned char* const to = operands.tile(row_tile, k_tile) + term * TERM_BYTES;
      const uint4 group{terms[term][0], terms[term][1], terms[term][2], terms[term][3]};
      *reinterpret_cast<uint4*>(to + swizzled(row * WGMMA_ROW_BYTES + k * 2)) = group;
    }
  }
}

/// Starts the products of 64 rows of a tile of A by a tile of B, as the loop of the first step does itself.
__device__ __forceinline__ void start_products(float (&products)[64], unsigned a_tile, unsigned b_tile) {
  constexpr int TERM_OF_A[] = {2, 0, 1, 1, 0, 0};  // the smallest products first
  constexpr int TERM_OF_B[] = {0, 2, 1, 0, 1, 0};
  const std::uint64_t a = wgmma_descriptor(a_tile);
  const std::uint64_t b = wgmma_descriptor(b_tile);
  wgmma_fence();
#pragma unroll
  for (int i = 0; i < 6; ++i) {
#pragma unroll
    for (int k = 0; k < WGMMA_ROW_BYTES; k += 32) {  // bytes of 16 elements
      wgmma_m64n128k16<Bf16>(products, wgmma_descriptor_at(a, TERM_OF_A[i] * TERM_BYTES + k),
                             wgmma_descriptor_at(b, TERM_OF_B[i] * TERM_BYTES + k), i + k > 0);
    }
  }
  wgmma_commit_group();
}

}  // namespace sgemm::SGEMM_TARGET::bf16_terms
