#pragma once

// Rings of slots in shared memory, through which producer threads hand operand tiles to consumer warps (sm_80 and
// later). Each slot has two barriers: one tells that it is full, the other that it is empty. Each use of a slot is one
// phase of both. A thread has its own place in the ring, and goes on from slot to slot:
//
//     producer: ring.wait_until_empty()             consumer: ring.wait_until_full()
//               copies into the slot                          reads the slot
//               arrives at ring.full()                        arrives at ring.empty()
//               ring.advance()                                ring.advance()
//
// All places are shared addresses.

#include "common/target.hpp"
#include "ptx/mbarrier.cuh"

#include <cuda_runtime.h>

namespace sgemm {
inline namespace SGEMM_TARGET {

/// Chapters 08 and 09: SLOTS slots of SLOT_BYTES, and their barriers behind them. A thread keeps the address of a
/// slot's barrier, from which the slot's number follows.
template <int SLOTS, int SLOT_BYTES>
class PackedRing {
 public:
  static constexpr int BARRIERS = SLOTS * SLOT_BYTES;  ///< the place of the first one, from the first slot on
  static constexpr int BYTES = BARRIERS + SLOTS * 2 * MBARRIER_BYTES;

  __device__ __forceinline__ explicit PackedRing(unsigned first_slot)
      : first_slot_(first_slot), full_(first_slot + BARRIERS) {}

  /// The number of this slot.
  __device__ unsigned slot() const { return (full_ - first_slot_ - BARRIERS) / MBARRIER_BYTES; }
  __device__ unsigned full() const { return full_; }
  __device__ unsigned empty() const { return full_ + SLOTS * MBARRIER_BYTES; }
  __device__ void wait_until_full() const { mbarrier_wait(full(), parity_); }
  __device__ void wait_until_empty() const { mbarrier_wait(empty(), parity_ ^ 1U); }
  /// Returns whether the place is the first slot again.
  __device__ bool advance() {
    full_ += MBARRIER_BYTES;
    const bool passed = full_ == first_slot_ + BARRIERS + SLOTS * MBARRIER_BYTES;
    if (passed) {
      full_ = first_slot_ + BARRIERS;
      parity_ ^= 1U;
    }
    return passed;
  }
  /// Makes the barriers, by all threads of a block: a slot is full when `writers` have arrived, and empty when
  /// `readers` have. A barrier of the block has to follow.
  __device__ __forceinline__ static void init(unsigned first_slot, unsigned readers, unsigned writers) {
    if (threadIdx.x < SLOTS) {
      const unsigned full = first_slot + BARRIERS + threadIdx.x * MBARRIER_BYTES;
      mbarrier_init(full, writers);
      mbarrier_init(full + SLOTS * MBARRIER_BYTES, readers);
    }
  }

 private:
  unsigned first_slot_;
  unsigned full_;
  unsigned parity_ = 0;  ///< of the number of times that the ring has been passed
};

/// Chapter 13 and the library: a slot has a tile of TILE_BYTES and, where chapters scale tiles, a scaling of
/// SCALING_BYTES. Tiles, scalings and barriers of SLOTS slots may lie apart.
template <int TILE_BYTES, int SLOTS_, int SCALING_BYTES = 0>
class Ring {
 public:
  static constexpr int SLOTS = SLOTS_;
  static constexpr int TILES_BYTES = SLOTS * TILE_BYTES;
  static constexpr int SCALINGS_BYTES = SLOTS * SCALING_BYTES;
  static constexpr int BARRIERS_BYTES = SLOTS * 2 * MBARRIER_BYTES;

  __device__ __forceinline__ Ring(unsigned tiles, unsigned scalings, unsigned barriers)
      : tiles_(tiles), scalings_(scalings), barriers_(barriers) {}

  __device__ unsigned tile() const { return tiles_ + slot_ * TILE_BYTES; }
  __device__ unsigned scaling() const { return scalings_ + slot_ * SCALING_BYTES; }
  __device__ unsigned full() const { return barriers_ + slot_ * MBARRIER_BYTES; }
  __device__ unsigned empty() const { return barriers_ + (SLOTS + slot_) * MBARRIER_BYTES; }
  __device__ void wait_until_full() const { mbarrier_wait(full(), parity_); }
  __device__ void wait_until_empty() const { mbarrier_wait(empty(), parity_ ^ 1U); }
  __device__ __forceinline__ void advance() {
    if (++slot_ == SLOTS) {
      slot_ = 0;
      parity_ ^= 1U;
    }
  }
  /// Makes the barriers, by one thread: a slot is full when `writers` have arrived, and empty when `readers` have.
  __device__ __forceinline__ void init(unsigned readers, unsigned writers = 1) const {
    for (int slot = 0; slot < SLOTS; ++slot) {
      mbarrier_init(barriers_ + slot * MBARRIER_BYTES, writers);
      mbarrier_init(barriers_ + (SLOTS + slot) * MBARRIER_BYTES, readers);
    }
  }

 private:
  unsigned tiles_;
  unsigned scalings_;
  unsigned barriers_;
  unsigned slot_ = 0;
  unsigned parity_ = 0;  ///< of the number of times that the ring has been passed
};

}  // namespace SGEMM_TARGET
}  // namespace sgemm
