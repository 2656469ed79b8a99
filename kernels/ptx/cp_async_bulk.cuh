#pragma once

// Bulk copies by the tensor memory accelerator (sm_90 and later): one thread starts one, and an mbarrier counts the
// bytes as they arrive.
// PTX ISA 9.0, "Data Movement and Conversion Instructions: cp.async.bulk".

#include "common/target.hpp"

#include <cuda_runtime.h>

namespace sgemm::SGEMM_TARGET {

// fence_mbarrier_init(): makes the mbarriers that this thread has initialised known to bulk copies. It comes before the
// barrier of the block that all threads wait at.
//
// mbarrier_arrive_expect_tx(barrier, bytes): mbarrier_arrive(), and makes the phase last until that many bytes have
// been copied as well. It is called before the copies are started.
//
// cp_async_bulk(destination, source, bytes, barrier): starts copying `bytes`, a multiple of 16, from `source` in global
// memory to the shared address `destination`, both aligned to 16 bytes. The bytes count for the current phase of
// `barrier`, whose number of bytes mbarrier_arrive_expect_tx has set. Threads that have waited for that phase may read
// them.
//
// cp_async_bulk_multicast(destination, source, bytes, barrier, ranks): the same to the blocks of the cluster whose
// ranks are the bits of `ranks`: to these addresses in each of them, where the bytes count for that block's barrier.

#ifdef __CUDACC__
#if __CUDA_ARCH__ >= 900

__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void mbarrier_arrive_expect_tx(unsigned barrier, unsigned bytes) {
  asm volatile("{\n .reg .b64 state;\n mbarrier.arrive.expect_tx.shared.b64 state, [%0], %1;\n}" ::"r"(barrier),
               "r"(bytes)
               : "memory");
}

__device__ __forceinline__ void cp_async_bulk(unsigned destination, const void* source, unsigned bytes,
                                              unsigned barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(destination),
      "l"(source), "r"(bytes), "r"(barrier)
      : "memory");
}

__device__ __forceinline__ void cp_async_bulk_multicast(unsigned destination, const void* source, unsigned bytes,
                                                        unsigned barrier, unsigned ranks) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], "
      "%4;" ::"r"(destination),
      "l"(source), "r"(bytes), "r"(barrier), "h"(static_cast<unsigned short>(ranks))
      : "memory");
}

#else  // other GPUs have no such copies: kernels that use them are not launched there

__device__ __forceinline__ void fence_mbarrier_init() { __trap(); }
__device__ __forceinline__ void mbarrier_arrive_expect_tx(unsigned, unsigned) { __trap(); }
__device__ __forceinline__ void cp_async_bulk(unsigned, const void*, unsigned, unsigned) { __trap(); }
__device__ __forceinline__ void cp_async_bulk_multicast(unsigned, const void*, unsigned, unsigned, unsigned) {
  __trap();
}

#endif
#endif

}  // namespace sgemm::SGEMM_TARGET
