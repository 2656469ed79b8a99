#pragma once

// Split operands for mma.sync (sm_80 and later): how a block copies operand tiles (split_operands.cuh) into shared
// memory, half a k-tile at a time, and where a lane's rows for ldmatrix lie there. Chapter 16 explains this code, and
// 17 uses it too.

#include "common/target.hpp"
#include "engine/ring.cuh"
#include "engine/split_operands.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/mbarrier.cuh"

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

/// The copies of TILES operand tiles and of those that follow them along k, by all THREADS of a block, through a ring
/// of SLOTS slots for half a k-tile each. Warps wait for data alone and not for one another, until one is slots ahead:
///
///     copies.start_next();              // of a half that comes later
///     const unsigned slot = copies.wait();
///     ...                               // reads the slot
///     copies.release();
template <class Scheme, int TILES, int SLOTS, int THREADS>
class HalfTileCopies {
  static constexpr int SLOT_BYTES = TILES * HalfTile<Scheme>::BYTES;
  using SlotRing = Ring<SLOT_BYTES, SLOTS>;

 public:
  static constexpr int SMEM_BYTES = SlotRing::TILES_BYTES + SlotRing::BARRIERS_BYTES;

  /// By all threads of the block. `smem`: the shared address of SMEM_BYTES. `first`: the terms of the first operand
  /// tiles along k, of each of the TILES. `halves`: how many halves of k-tiles there are.
  __device__ __forceinline__ HalfTileCopies(unsigned smem, const unsigned char* const (&first)[TILES], int halves)
      : reading_(smem, 0, smem + SlotRing::TILES_BYTES), writing_(reading_), left_(halves) {
#pragma unroll
    for (int tile = 0; tile < TILES; ++tile) {
      source_[tile] = first[tile] + threadIdx.x * BYTES_OF_THREAD;
    }
    if (threadIdx.x == 0) {
      reading_.init(THREADS / WARP, THREADS);
    }
    __syncthreads();
#pragma unroll
    for (int half = 0; half < AHEAD; ++half) {
      start_next();
    }
  }

  /// Starts the copies of the next half that has none yet, if there is one, when all warps have read what is in its
  /// slot.
  __device__ __forceinline__ void start_next() {
    if (left_ > 0) {
      writing_.wait_until_empty();
      copy(writing_.tile() + threadIdx.x * BYTES_OF_THREAD, std::make_integer_sequence<int, TILES * COUNT>());
      cp_async_mbarrier_arrive_noinc(writing_.full());
      writing_.advance();
      --left_;
    }
  }

  /// Waits for the oldest half that this warp has not read, and returns its slot.
  __device__ __forceinline__ unsigned wait() const {
    reading_.wait_until_full();
    return reading_.tile();
  }

  /// This warp has read the slot.
  __device__ __forceinline__ void release() {
    __syncwarp();
    if (threadIdx.x % WARP == 0) {
      mbarrier_arrive(reading_.empty());
    }
    reading_.advance();
  }

 private:
  static constexpr int AHEAD = SLOTS > 2 ? SLOTS - 2 : 1;  // halves under way; one slot more lets warps drift apart
  static constexpr int BYTES_OF_THREAD = 16;
  static constexpr int BYTES_OF_COPY = THREADS * BYTES_OF_THREAD;
  static constexpr int COUNT = HalfTile<Scheme>::BYTES / BYTES_OF_COPY;  // of an operand tile, by a thread

  /// Starts a thread's copies. Their distances are constants of the instructions and need no registers.
  template <int... NUMBER>
  __device__ __forceinline__ void copy(unsigned slot, std::integer_sequence<int, NUMBER...>) {
    (cp_async<BYTES_OF_THREAD, NUMBER % COUNT * BYTES_OF_COPY>(slot + NUMBER / COUNT * HalfTile<Scheme>::BYTES,
                                                               source_[NUMBER / COUNT]),
     ...);
#pragma unroll
    for (const unsigned char*& source : source_) {
      source += HalfTile<Scheme>::BYTES;
    }
  }

  SlotRing reading_;
  SlotRing writing_;
  int left_;  ///< halves without copies
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
