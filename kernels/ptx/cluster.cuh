#pragma once

// Clusters of blocks that write to each other's shared memory (sm_90 and later). PTX ISA 9.0, "Parallel Synchronization
// and Communication Instructions: barrier.cluster", "Data Movement and Conversion Instructions: mapa, st.async".

#include "common/target.hpp"
#include "ptx/mbarrier.cuh"
#include "ptx/shared_memory.cuh"

#include <cuda_runtime.h>

namespace sgemm {
inline namespace SGEMM_TARGET {

// cluster_rank(): the block's number in its cluster.
//
// cluster_arrive(), cluster_wait(): both halves of a barrier of all threads of a cluster. It orders nothing but
// mbarriers that were made known by fence_mbarrier_init(): to order all memory would be to wait for copies under way.
//
// st_async(address, rank, value, mbarrier): stores 4 or 8 bytes at the place of the shared address `address` in the
// memory of block number `rank`, and tells the mbarrier at this place there.
//
// expect_async(mbarrier, bytes): by one thread of the block that gets so many bytes in a phase.
//
// wait_async(mbarrier, parity): by all threads of the block. What came in the phase is there then.

#ifdef __CUDACC__

__device__ __forceinline__ unsigned cluster_rank() {
  unsigned rank = 0;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

__device__ __forceinline__ unsigned address_in_cluster(unsigned address, unsigned rank) {
  unsigned mapped = 0;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}

__device__ __forceinline__ void st_async(unsigned address, unsigned rank, unsigned value, unsigned mbarrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(
                   address_in_cluster(address, rank)),
               "r"(value), "r"(address_in_cluster(mbarrier, rank))
               : "memory");
}

__device__ __forceinline__ void st_async(unsigned address, unsigned rank, long long value, unsigned mbarrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.s64 [%0], %1, [%2];" ::"r"(
                   address_in_cluster(address, rank)),
               "l"(value), "r"(address_in_cluster(mbarrier, rank))
               : "memory");
}

__device__ __forceinline__ void expect_async(unsigned mbarrier, unsigned bytes) {
  mbarrier_arrive_expect_tx(mbarrier, bytes);
}

__device__ __forceinline__ void wait_async(unsigned mbarrier, unsigned parity) { mbarrier_wait(mbarrier, parity); }

#else  // the executor's: every block is a cluster

inline unsigned cluster_rank() { return 0; }
inline void cluster_arrive() {}
inline void cluster_wait() { __syncthreads(); }

template <class Value>
void st_async(unsigned address, unsigned, Value value, unsigned) {
  *static_cast<Value*>(const_cast<void*>(from_shared_address(address))) = value;
}

inline void expect_async(unsigned, unsigned) {}
inline void wait_async(unsigned, unsigned) { __syncthreads(); }

#endif

}  // namespace SGEMM_TARGET
}  // namespace sgemm
