#pragma once

// Barriers in shared memory on which threads wait for a phase to end (sm_80 and later): some threads say that data is
// there, others wait for it, and neither side has to stop for the other.
// PTX ISA 9.0, "Parallel Synchronization and Communication Instructions: mbarrier".

#include "common/target.hpp"

#include <cuda_runtime.h>
#ifndef __CUDACC__
#include "executor/ptx.hpp"
#endif

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

}  // namespace sgemm::SGEMM_TARGET
