#pragma once

// The library's rings in shared memory: as in kernels/common/ring.cuh, for stages that have a tile, and a scaling
// apart.

#include "common/target.hpp"
#include "ptx/mbarrier.cuh"

#include <cuda_runtime.h>

namespace sgemm::SGEMM_TARGET {

/// Chapter 13 and the library: a stage has a tile of TILE_BYTES and, where chapters scale tiles, a scaling of
/// SCALING_BYTES. Tiles, scalings and barriers of STAGES stages may lie apart.
template <int TILE_BYTES, int STAGES_, int SCALING_BYTES = 0>
class Ring {
 public:
  static constexpr int STAGES = STAGES_;
  static constexpr int TILES_BYTES = STAGES * TILE_BYTES;
  static constexpr int SCALINGS_BYTES = STAGES * SCALING_BYTES;
  static constexpr int BARRIERS_BYTES = STAGES * 2 * MBARRIER_BYTES;

  __device__ __forceinline__ Ring(unsigned tiles, unsigned scalings, unsigned barriers)
      : tiles_(tiles), scalings_(scalings), barriers_(barriers) {}

  __device__ unsigned stage() const { return stage_; }
  __device__ unsigned tile() const { return tiles_ + stage_ * TILE_BYTES; }
  __device__ unsigned scaling() const { return scalings_ + stage_ * SCALING_BYTES; }
  __device__ unsigned full() const { return barriers_ + stage_ * MBARRIER_BYTES; }
  __device__ unsigned empty() const { return barriers_ + (STAGES + stage_) * MBARRIER_BYTES; }
  __device__ void wait_until_full() const { mbarrier_wait(full(), parity_); }
  __device__ void wait_until_empty() const { mbarrier_wait(empty(), parity_ ^ 1U); }
  __device__ __forceinline__ void advance() {
    if (++stage_ == STAGES) {
      stage_ = 0;
      parity_ ^= 1U;
    }
  }
  /// Makes the barriers, by one thread: a stage is full when `writers` have arrived, and empty when `readers` have.
  __device__ __forceinline__ void init(unsigned readers, unsigned writers = 1) const {
    for (int stage = 0; stage < STAGES; ++stage) {
      mbarrier_init(barriers_ + stage * MBARRIER_BYTES, writers);
      mbarrier_init(barriers_ + (STAGES + stage) * MBARRIER_BYTES, readers);
    }
  }

 private:
  unsigned tiles_;
  unsigned scalings_;
  unsigned barriers_;
  unsigned stage_ = 0;
  unsigned parity_ = 0;  ///< of the number of times that the ring has been passed
};

}  // namespace sgemm::SGEMM_TARGET
