#pragma once

#include "common/target.hpp"
#include "ptx/mbarrier.cuh"

#include <cuda_runtime.h>

namespace sgemm {
inline namespace SGEMM_TARGET {

/// A thread's place in a ring of stages in shared memory, of BYTES each. Behind them each has two mbarriers, which tell
/// that it is full, and that it is empty. All places are shared addresses.
template <int STAGES, int BYTES>
struct Stage {
  static constexpr int SMEM_BYTES = STAGES * (BYTES + 2 * MBARRIER_BYTES);

  unsigned smem;
  unsigned number = 0;
  unsigned parity = 0;  ///< of the number of times that the ring has been passed

  __device__ unsigned data() const { return smem + number * BYTES; }
  __device__ unsigned full() const { return smem + STAGES * BYTES + number * MBARRIER_BYTES; }
  __device__ unsigned empty() const { return full() + STAGES * MBARRIER_BYTES; }
  __device__ __forceinline__ void advance() {
    if (++number == STAGES) {
      number = 0;
      parity ^= 1U;
    }
  }
  /// Makes the barriers of all stages, by one thread: so many arrivals fill a stage, and empty it.
  __device__ __forceinline__ void init(unsigned writers, unsigned readers) const {
    for (Stage each = *this; each.parity == 0; each.advance()) {
      mbarrier_init(each.full(), writers);
      mbarrier_init(each.empty(), readers);
    }
  }
  /// Gives a stage back, which this warp has read.
  __device__ __forceinline__ void release() {
    mbarrier_arrive_as_warp(empty());
    advance();
  }
};

}  // namespace SGEMM_TARGET
}  // namespace sgemm
