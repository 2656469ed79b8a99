#pragma once

// The library's rings in shared memory: as in kernels/common/ring.cuh, for stages that have a tile, and a scaling
// apart.

#include "common/target.hpp"
#include "ptx/mbarrier.cuh"

#include <cuda_runtime.h>

namespace sgemm {
inline namespace SGEMM_TARGET {

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

  __device__ unsigned slot() const { return slot_; }
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
