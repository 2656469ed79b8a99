#pragma once

// Blocks of a cluster, which run at the same time and reach each other's shared memory (sm_90 and later).
// PTX ISA 9.0, "Parallel Synchronization and Communication Instructions: barrier.cluster, mbarrier.arrive", "Data
// Movement and Conversion Instructions: mapa".

#include "common/target.hpp"

#include <cuda_runtime.h>

namespace sgemm::SGEMM_TARGET {

// cluster_rank(): the number of this block in its cluster. Ranks count from 0, in the order of blockIdx.x.
//
// cluster_sync(): a barrier of all threads of the cluster's blocks. What they have done to memory before it, all of
// them see after it.
//
// mbarrier_arrive_at(barrier, rank): mbarrier_arrive() at what lies at this shared address in the block of that rank.
// On the executor it has to be the own block.

#ifdef __CUDACC__
#if __CUDA_ARCH__ >= 900

__device__ __forceinline__ unsigned cluster_rank() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ __forceinline__ void mbarrier_arrive_at(unsigned barrier, unsigned rank) {
  asm volatile(
      "{\n .reg .b32 there;\n mapa.shared::cluster.u32 there, %0, %1;\n"
      " mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}

#else  // other GPUs have no clusters: kernels that use them are not launched there

__device__ __forceinline__ unsigned cluster_rank() { return 0; }
__device__ __forceinline__ void cluster_sync() { __trap(); }
__device__ __forceinline__ void mbarrier_arrive_at(unsigned, unsigned) { __trap(); }

#endif
#endif

}  // namespace sgemm::SGEMM_TARGET
