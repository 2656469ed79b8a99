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
  /// `first`: the terms of the first operand tiles along k, of each of the TILES.
  __device__ __forceinline__ explicit HalfTileCopies(const unsigned char* const (&first)[TILES]) {
#pragma unroll
    for (int tile = 0; tile < TILES; ++tile) {
      source_[tile] = first[tile] + threadIdx.x * BYTES_OF_THREAD;
    }
  }

  /// Starts the copies of half number `half`, 0 or 1, of all tiles to the shared address `to` and what follows it.
  /// After the second half, the next k-tile has its turn.
  __device__ __forceinline__ void start(unsigned to, int half) {
    using Half = HalfTile<Scheme>;
    const unsigned destination = to + threadIdx.x * BYTES_OF_THREAD;
#pragma unroll
    for (int tile = 0; tile < TILES; ++tile) {
#pragma unroll
      for (int term = 0; term < Scheme::TERMS; ++term) {
        const int from = term * OperandTile<Scheme>::TERM_BYTES + half * Half::TERM_BYTES;
#pragma unroll
        for (int i = 0; i < Half::TERM_BYTES; i += THREADS * BYTES_OF_THREAD) {
          cp_async<BYTES_OF_THREAD>(destination + tile * Half::BYTES + term * Half::TERM_BYTES + i,
                                    source_[tile] + from + i);
        }
      }
      source_[tile] += half == HALVES - 1 ? OperandTile<Scheme>::BYTES : 0;
    }
  }

 private:
  static constexpr int BYTES_OF_THREAD = 16;  ///< that one copy moves

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
