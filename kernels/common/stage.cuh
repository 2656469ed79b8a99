#pragma once

#include "common/target.hpp"

#include <cuda_runtime.h>

namespace sgemm {
inline namespace SGEMM_TARGET {

/// A thread's place in a ring of stages in shared memory, of BYTES each. Behind them each has two mbarriers, which tell
/// that it is full, and that it is empty. All places are shared addresses.
template <int STAGES, int BYTES>
struct Stage {
  static constexpr int BARRIER_BYTES = 8;
  static constexpr int SMEM_BYTES = STAGES * (BYTES + 2 * BARRIER_BYTES);

  unsigned smem;
  unsigned number = 0;
  unsigned parity = 0;  ///< of the number of times that the ring has been passed

  __device__ unsigned data() const { return smem + number * BYTES; }
  __device__ unsigned full() const { return smem + STAGES * BYTES + number * BARRIER_BYTES; }
  __device__ unsigned empty() const { return full() + STAGES * BARRIER_BYTES; }
  __device__ __forceinline__ void advance() {
    if (++number == STAGES) {
      number = 0;
      parity ^= 1U;
    }
  }
};

}  // namespace SGEMM_TARGET
}  // namespace sgemm
