#pragma once

// Copies of whole pieces of memory by the tensor memory accelerator (sm_90 and later): one thread starts one, and an
// mbarrier counts the bytes as they arrive.
// PTX ISA 9.0, "Data Movement and Conversion Instructions: cp.async.bulk" and "mbarrier: Tracking asynchronous
// operations by the mbarrier object" (its tx-count).

#include "common/target.hpp"

#include <cuda_runtime.h>

namespace sgemm {
inline namespace SGEMM_TARGET {

// mbarrier_arrive_expecting(barrier, bytes): arrives, and makes the phase last until that many bytes have been copied
// as well. Called before the copies are started.
//
// announce_mbarriers(): makes the mbarriers that this thread has initialised known to such copies; before the barrier
// of the block that all threads wait at.
//
// bulk_copy(destination, source, bytes, barrier): starts copying from `source` in global memory to the shared address
// `destination`, both aligned to 16 bytes, and as many as a multiple of 16. They count for the phase of `barrier`, and
// may be read by whoever has waited for it.

#ifdef __CUDACC__

__device__ __forceinline__ void mbarrier_arrive_expecting(unsigned barrier, unsigned bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("{\n .reg .b64 state;\n mbarrier.arrive.expect_tx.shared.b64 state, [%0], %1;\n}" ::"r"(barrier),
               "r"(bytes)
               : "memory");
#else
  __trap();
#endif
}

__device__ __forceinline__ void announce_mbarriers() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#else
  __trap();
#endif
}

__device__ __forceinline__ void bulk_copy(unsigned destination, const void* source, unsigned bytes, unsigned barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(destination),
      "l"(source), "r"(bytes), "r"(barrier)
      : "memory");
#else
  __trap();
#endif
}

#else  // the executor's

inline void mbarrier_arrive_expecting(unsigned barrier, unsigned bytes, simt::Site site = simt::Site::current()) {
  simt::mbarrier_arrive_expecting(barrier, bytes, site);
}

inline void announce_mbarriers() {}

inline void bulk_copy(unsigned destination, const void* source, unsigned bytes, unsigned barrier,
                      simt::Site site = simt::Site::current()) {
  simt::bulk_copy(destination, source, bytes, barrier, site);
}

#endif

}  // namespace SGEMM_TARGET
}  // namespace sgemm
