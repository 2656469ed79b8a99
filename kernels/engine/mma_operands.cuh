#pragma once

// Split operands for mma.sync (sm_80 and later): how a block copies operand tiles (split_operands.cuh) into shared
// memory, half a k-tile at a time, and where a lane's rows for ldmatrix lie there. Chapter 16 explains this code, and
// 17 uses it too.

#include "common/target.hpp"
#include "engine/split_operands.cuh"
#include "ptx/cp_async.cuh"

namespace sgemm {
inline namespace SGEMM_TARGET {
namespace split_product {

// The product of one instruction, which takes MMA_BYTES of each row of A and each column of B.
constexpr int MMA_M = 16;
constexpr int MMA_N = 8;
constexpr int MMA_BYTES = 32;

constexpr int HALVES = 2;  // of a k-tile
constexpr int HALF_ROW_BYTES = WGMMA_ROW_BYTES / HALVES;
constexpr int MMAS_OF_HALF = HALF_ROW_BYTES / MMA_BYTES;
constexpr int GROUPS_OF_HALF = HALF_ROW_BYTES / 16;

/// Half an operand tile in shared memory: half of each term, one after the other.
template <class Scheme>
struct HalfTile {
  static constexpr int TERM_BYTES = TILE_ROWS * HALF_ROW_BYTES;
  static constexpr int BYTES = Scheme::TERMS * TERM_BYTES;
};

/// The place of a 16-byte group in half a term, whose rows have HALF_ROW_BYTES. Two rows fill all banks once. Groups
/// change places by the number of the pair of rows, so that the same group of eight rows lies in distinct banks.
__device__ __forceinline__ unsigned place_in_half(unsigned row, unsigned group) {
  return row * HALF_ROW_BYTES + (group ^ row / 2 % GROUPS_OF_HALF) * 16;
}

/// The order in each term of an operand tile: both halves one after the other, as they will lie in shared memory.
struct HalvesOrder {
  __device__ __forceinline__ static unsigned place(unsigned row, unsigned group) {
    return group / GROUPS_OF_HALF * (TILE_ROWS * HALF_ROW_BYTES) + place_in_half(row, group % GROUPS_OF_HALF);
  }
};

/// The copies of TILES operand tiles and of those that follow them along k, by the THREADS of a block.
template <class Scheme, int TILES, int THREADS>
class HalfTileCopies {
 public:
  /// `ring`: the shared address of the slots. `first`: the terms of the first operand tiles along k, of each of the
  /// TILES.
  __device__ __forceinline__ HalfTileCopies(unsigned ring, const unsigned char* const (&first)[TILES])
      : ring_(ring + threadIdx.x * BYTES_OF_THREAD) {
#pragma unroll
    for (int tile = 0; tile < TILES; ++tile) {
      source_[tile] = first[tile] + threadIdx.x * BYTES_OF_THREAD;
    }
  }

  /// Starts part number `part` of `parts` of the copies of half number `half`, 0 or 1, of all tiles to the slot that
  /// begins `slot` bytes behind the first one. After the last part of the second half, the next k-tile has its turn.
  __device__ __forceinline__ void start(unsigned slot, int half, int part = 0, int parts = 1) {
#pragma unroll
    for (int i = part * COUNT / parts; i < (part + 1) * COUNT / parts; ++i) {
      const int tile = i / COUNT_OF_TILE;
      const int term = i % COUNT_OF_TILE / COUNT_OF_TERM;
      const int offset = i % COUNT_OF_TERM * BYTES_OF_COPY;
      cp_async<BYTES_OF_THREAD>(ring_ + slot + i * BYTES_OF_COPY,
                                source_[tile] + term * OperandTile<Scheme>::TERM_BYTES + half * TERM_BYTES + offset);
    }
    if (part == parts - 1 && half == HALVES - 1) {
#pragma unroll
      for (const unsigned char*& source : source_) {
        source += OperandTile<Scheme>::BYTES;
      }
    }
  }

 private:
  static constexpr int BYTES_OF_THREAD = 16;
  static constexpr int BYTES_OF_COPY = THREADS * BYTES_OF_THREAD;
  static constexpr int TERM_BYTES = HalfTile<Scheme>::TERM_BYTES;
  static constexpr int COUNT_OF_TERM = TERM_BYTES / BYTES_OF_COPY;
  static constexpr int COUNT_OF_TILE = Scheme::TERMS * COUNT_OF_TERM;
  static constexpr int COUNT = TILES * COUNT_OF_TILE;

  unsigned ring_;
  const unsigned char* source_[TILES];
};

// A lane's row for ldmatrix_x4(), from the beginning of a term on, for the first product of a half. XOR with MMA_BYTES
// leads to the second one. The next rows lie MMA_M * HALF_ROW_BYTES further on.

/// For 16 rows of A: all registers of an mma's A.
__device__ __forceinline__ unsigned lane_in_a(unsigned row, unsigned lane) {
  return place_in_half(row + lane % 16, lane / 16);
}
/// For 16 columns of B: both registers of an mma's B, and those for the next 8 columns.
__device__ __forceinline__ unsigned lane_in_b(unsigned column, unsigned lane) {
  return place_in_half(column + lane / 16 * 8 + lane % 8, lane / 8 % 2);
}

}  // namespace split_product
}  // namespace SGEMM_TARGET
}  // namespace sgemm
