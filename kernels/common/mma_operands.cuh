#pragma once

// What 16 and 17 have in common: operand tiles in the order in which ldmatrix reads them for mma.sync.

#include "common/ceil_div.hpp"
#include "common/problem.hpp"
#include "common/split_lines.cuh"
#include "common/target.hpp"
#include "ptx/shared_memory.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sgemm::SGEMM_TARGET {

/// The operand tiles, and behind them the codes of the scales of all lines. Tiles of the same lines follow one another
/// along k, and those of B come after those of A. In a tile each line has a row of 64 bytes of each term.
template <class Format>
struct MmaOperands {
  static constexpr int ROW_BYTES = 64;
  static constexpr int TERM_BYTES = TILE_LINES * ROW_BYTES;
  static constexpr int TILE_BYTES = Format::TERMS * TERM_BYTES;

  int a_tiles;
  int b_tiles;
  int k_tiles;  ///< an even number: lines are split for two of them together. Zeros follow the last k
  unsigned char* memory;

  static MmaOperands of(const Problem& p, void* memory) {
    const auto tiles = [](std::int64_t x, int size) { return static_cast<int>(ceil_div<std::int64_t>(x, size)); };
    return {tiles(p.m, TILE_LINES), tiles(p.n, TILE_LINES), 2 * std::max(tiles(p.k, Format::BK), 1),
            static_cast<unsigned char*>(memory)};
  }
  __host__ __device__ std::size_t codes_at() const {
    return (std::size_t{0} + a_tiles + b_tiles) * k_tiles * TILE_BYTES;
  }
  /// The first one along k of tile number `tile` of both matrices, and the codes of its lines.
  __device__ unsigned char* tile(int tile) const { return memory + std::int64_t{tile} * k_tiles * TILE_BYTES; }
  __device__ unsigned char* codes(int tile) const { return memory + codes_at() + tile * TILE_LINES; }
  std::size_t bytes() const { return codes_at() + (a_tiles + b_tiles) * TILE_LINES; }
  /// Whether a block that splits has use and room for shared memory.
  bool keeps(int smem_bytes) const { return k_tiles / 2 > SPLIT_CHUNK<Format> && KEPT_BYTES <= smem_bytes; }

  /// Where a term has 16 bytes of a row. Two rows fill all banks once, so that groups change places by the number of
  /// the pair of rows: ldmatrix reads the same group of eight rows from distinct banks.
  __device__ __forceinline__ static unsigned place_in_tile(unsigned row, unsigned group) {
    return row * ROW_BYTES + (group ^ row / 2 % 4) * 16;
  }

  /// Writes the terms of eight lines in each block.
  __device__ __forceinline__ void split(const Problem& p, bool keeps) const {
    split_lines<Format>(
        p, a_tiles, k_tiles / 2, keeps ? dynamic_smem() : nullptr,
        [&](const Group& at, unsigned code, const uint4(&terms)[Format::TERMS]) {
          unsigned char* const to = tile(at.tile) + std::int64_t{2 * at.k_tile + at.number / 4} * TILE_BYTES;
#pragma unroll
          for (int term = 0; term < Format::TERMS; ++term) {
            *reinterpret_cast<uint4*>(to + term * TERM_BYTES + place_in_tile(at.row, at.number % 4)) = terms[term];
          }
          if (at.k_tile == 0 && at.number == 0) {
            codes(at.tile)[at.row] = static_cast<unsigned char>(code);
          }
        });
  }
};

}  // namespace sgemm::SGEMM_TARGET
