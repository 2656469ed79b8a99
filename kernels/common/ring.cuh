#pragma once

// Rings of stages in shared memory, through which producer threads hand operand tiles to consumer warps (sm_80 and
// later). Each stage has two barriers: one tells that it is full, the other that it is empty. Each use of a stage is
// one phase of both. A thread has its own place in the ring, and goes on from stage to stage:
//
//     producer: ring.wait_until_empty()             consumer: ring.wait_until_full()
//               copies into the stage                          reads the stage
//               arrives at ring.full()                        arrives at ring.empty()
//               ring.advance()                                ring.advance()
//
// All places are shared addresses.

#include "common/target.hpp"
#include "ptx/mbarrier.cuh"

#include <cuda_runtime.h>

namespace sgemm::SGEMM_TARGET {

/// STAGES stages of STAGE_BYTES, and their barriers behind them. A thread keeps the address of a
/// stage's barrier, from which the stage's number follows.
template <int STAGES, int STAGE_BYTES>
class PackedRing {
 public:
  static constexpr int BARRIERS = STAGES * STAGE_BYTES;  ///< the place of the first one, from the first stage on
  static constexpr int BYTES = BARRIERS + STAGES * 2 * MBARRIER_BYTES;

  __device__ __forceinline__ explicit PackedRing(unsigned first_stage)
      : first_stage_(first_stage), full_(first_stage + BARRIERS) {}

  /// The number of this stage.
  __device__ unsigned stage() const { return (full_ - first_stage_ - BARRIERS) / MBARRIER_BYTES; }
  __device__ unsigned full() const { return full_; }
  __device__ unsigned empty() const { return full_ + STAGES * MBARRIER_BYTES; }
  __device__ void wait_until_full() const { mbarrier_wait(full(), parity_); }
  __device__ void wait_until_empty() const { mbarrier_wait(empty(), parity_ ^ 1U); }
  /// Returns whether the place is the first stage again.
  __device__ bool advance() {
    full_ += MBARRIER_BYTES;
    const bool passed = full_ == first_stage_ + BARRIERS + STAGES * MBARRIER_BYTES;
    if (passed) {
      full_ = first_stage_ + BARRIERS;
      parity_ ^= 1U;
    }
    return passed;
  }
  /// Makes the barriers, by all threads of a block: a stage is full when `writers` have arrived, and empty when
  /// `readers` have. A barrier of the block has to follow.
  __device__ __forceinline__ static void init(unsigned first_stage, unsigned readers, unsigned writers) {
    if (threadIdx.x < STAGES) {
      const unsigned full = first_stage + BARRIERS + threadIdx.x * MBARRIER_BYTES;
      mbarrier_init(full, writers);
      mbarrier_init(full + STAGES * MBARRIER_BYTES, readers);
    }
  }

 private:
  unsigned first_stage_;
  unsigned full_;
  unsigned parity_ = 0;  ///< of the number of times that the ring has been passed
};

}  // namespace sgemm::SGEMM_TARGET
