#pragma once

// Split operands for mma.sync (sm_80 and later): how a block copies operand tiles (split_operands.cuh) into shared
// memory, half a k-tile at a time, and where a lane's rows for ldmatrix lie there. Chapter 16 explains this code, and
// 17 uses it too.

#include "common/target.hpp"
#include "engine/split_operands.cuh"
#include "ptx/cp_async.cuh"

#include <utility>

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

/// The order in an operand tile: the first half of all terms, then the second one, as they will lie in shared memory.
struct HalvesOrder {
  static constexpr int HALF_BYTES = TILE_ROWS * HALF_ROW_BYTES;

  __device__ __forceinline__ static unsigned place(unsigned row, unsigned group) {
    return group / GROUPS_OF_HALF * HALF_BYTES + place_in_half(row, group % GROUPS_OF_HALF);
  }
  template <class Scheme>
  __device__ __forceinline__ static unsigned in_tile(int term, unsigned place) {
    return place / HALF_BYTES * HalfTile<Scheme>::BYTES + term * HALF_BYTES + place % HALF_BYTES;
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

  /// Starts part number `part` of `parts` of the copies of half a k-tile of all tiles, to the slot that begins `slot`
  /// bytes behind the first one. After the last part, the next half has its turn.
  __device__ __forceinline__ void start(unsigned slot, int part = 0, int parts = 1) {
    start(slot, part, parts, std::make_integer_sequence<int, TILES * COUNT>());
    if (part == parts - 1) {
#pragma unroll
      for (const unsigned char*& source : source_) {
        source += HalfTile<Scheme>::BYTES;
      }
    }
  }

 private:
  static constexpr int BYTES_OF_THREAD = 16;
  static constexpr int BYTES_OF_COPY = THREADS * BYTES_OF_THREAD;
  static constexpr int COUNT = HalfTile<Scheme>::BYTES / BYTES_OF_COPY;  // of an operand tile, by a thread

  /// NUMBER: of all copies. Their places are constants, which need no registers.
  template <int... NUMBER>
  __device__ __forceinline__ void start(unsigned slot, int part, int parts, std::integer_sequence<int, NUMBER...>) {
    (void)((NUMBER * parts / (TILES * COUNT) == part && (copy<NUMBER / COUNT, NUMBER % COUNT>(slot), true)), ...);
  }
  template <int TILE, int NUMBER>
  __device__ __forceinline__ void copy(unsigned slot) const {
    cp_async<BYTES_OF_THREAD, NUMBER * BYTES_OF_COPY>(ring_ + slot + TILE * HalfTile<Scheme>::BYTES, source_[TILE]);
  }

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
