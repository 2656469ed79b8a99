#pragma once

// Barriers in shared memory on which threads wait for a phase to end (sm_80 and later): some threads say that data is
// there, others wait for it, and neither side has to stop for the other. Rings of stages are made of them.
// PTX ISA 9.0, "Parallel Synchronization and Communication Instructions: mbarrier".

#include "common/target.hpp"

#include <cuda_runtime.h>

#include <cstdint>

namespace sgemm::SGEMM_TARGET {

constexpr int MBARRIER_BYTES = 8;

// `barrier` is the shared address (shared_address) of MBARRIER_BYTES, aligned to them, that nothing else uses. A phase
// ends when as many arrivals as mbarrier_init was told have come in; the next begins at once. Phases count from 0.
//
// mbarrier_init(barrier, arrivals): by one thread, before a barrier of the block and any use by others.
//
// mbarrier_arrive(barrier): what this thread did so far comes before whatever follows the wait for this phase.
//
// cp_async_mbarrier_arrive_noinc(barrier): arrives when all earlier cp_async copies of this thread have arrived, and
// does not wait itself.
//
// mbarrier_wait(barrier, parity): waits until the latest phase of that parity (0 or 1) has ended. The phase before
// phase 0 counts as ended, so that the first wait for parity 1 returns at once.

#ifdef __CUDACC__

__device__ __forceinline__ void mbarrier_init(unsigned barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

__device__ __forceinline__ void mbarrier_arrive(unsigned barrier) {
  asm volatile("{\n .reg .b64 state;\n mbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(barrier) : "memory");
}

__device__ __forceinline__ void cp_async_mbarrier_arrive_noinc(unsigned barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}

__device__ __forceinline__ void mbarrier_wait(unsigned barrier, unsigned parity) {
#if __CUDA_ARCH__ >= 900  // this form sleeps in between; before sm_90 there is only the test
#define SGEMM_MBARRIER_WAIT "mbarrier.try_wait.parity.shared.b64"
#else
#define SGEMM_MBARRIER_WAIT "mbarrier.test_wait.parity.shared.b64"
#endif
  asm volatile(
      "{\n .reg .pred ended;\n"
      "again:\n " SGEMM_MBARRIER_WAIT
      " ended, [%0], %1;\n"
      " @ended bra done;\n bra again;\n"
      "done:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
#undef SGEMM_MBARRIER_WAIT
}

#endif

/// Arrives once for a warp that has read what the barriers guard, by all of its threads.
template <class... Barriers>
__device__ __forceinline__ void mbarrier_arrive_as_warp(Barriers... barriers) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) {
    (mbarrier_arrive(barriers), ...);
  }
}

// ---- A ring of stages in shared memory ----
//
// Producer threads hand operand tiles through it to consumer warps. Each stage has two barriers: one tells that it is
// full, the other that it is empty. Each use of a stage is one phase of both. A thread has its own place in the ring,
// and goes on from stage to stage:
//
//     producer: ring.wait_until_empty()             consumer: ring.wait_until_full()
//               copies into the stage                          reads the stage
//               arrives at ring.full()                        arrives at ring.empty()
//               ring.advance()                                ring.advance()

/// STAGES stages of STAGE_BYTES, and their barriers behind them. A thread keeps the address of a
/// stage's barrier, from which the stage's number follows.
template <int STAGES, int STAGE_BYTES>
class StageRing {
 public:
  static constexpr int BARRIERS = STAGES * STAGE_BYTES;  ///< the place of the first one, from the first stage on
  static constexpr int BYTES = BARRIERS + STAGES * 2 * MBARRIER_BYTES;

  __device__ __forceinline__ explicit StageRing(unsigned first_stage)
      : first_stage_(first_stage), full_(first_stage + BARRIERS) {}

  /// The number of this stage.
  __device__ unsigned stage() const { return (full_ - first_stage_ - BARRIERS) / MBARRIER_BYTES; }
  __device__ unsigned full() const { return full_; }
  __device__ unsigned empty() const { return full_ + STAGES * MBARRIER_BYTES; }
  __device__ void wait_until_full() const { mbarrier_wait(full(), parity_); }
  __device__ void wait_until_empty() const { mbarrier_wait(empty(), parity_ ^ 1U); }
  /// Where the stage lies.
  __device__ unsigned data() const { return first_stage_ + stage() * STAGE_BYTES; }
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
  /// Gives a stage back, which this warp has read, and goes on.
  __device__ __forceinline__ void release() {
    mbarrier_arrive_as_warp(empty());
    advance();
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
