#pragma once

// Blocks of a cluster, which run at the same time and reach each other's shared memory (sm_90 and later).
// PTX ISA 9.0, "Parallel Synchronization and Communication Instructions: barrier.cluster, mbarrier.arrive", "Data
// Movement and Conversion Instructions: mapa, ld".

#include "common/target.hpp"

#include <cuda_runtime.h>
#ifndef __CUDACC__
#include "executor/ptx.hpp"
#endif

namespace sgemm {
inline namespace SGEMM_TARGET {

// cluster_rank(): the number of this block in its cluster. Ranks count from 0, in the order of blockIdx.x.
//
// cluster_sync(): a barrier of all threads of the cluster's blocks. What they have done to memory before it, all of
// them see after it.
//
// cluster_sync_blocks(releases): the same in less time, right after a barrier of each block. The warp that `releases`,
// one of each block, does so for what all of its block's threads have done. A release to a cluster waits for memory.
//
// cluster_sync_relaxed(): the same barrier without an order of memory, in less time. It is for reads that are over: no
// block may end, or write to its shared memory, while others still read it.
//
// ld_cluster_v4_f32(address, rank): loads four floats from this shared address, aligned to 16 bytes, in the block of
// that rank.
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

__device__ __forceinline__ void cluster_sync_blocks(bool releases) {
  if (releases) {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  } else {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  }
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ __forceinline__ void cluster_sync_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
}

__device__ __forceinline__ float4 ld_cluster_v4_f32(unsigned address, unsigned rank) {
  float4 value;
  asm volatile(
      "{\n .reg .b32 there;\n mapa.shared::cluster.u32 there, %4, %5;\n"
      " ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there];\n}"
      : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
      : "r"(address), "r"(rank));
  return value;
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
__device__ __forceinline__ void cluster_sync_blocks(bool) { __trap(); }
__device__ __forceinline__ void cluster_sync_relaxed() { __trap(); }
__device__ __forceinline__ float4 ld_cluster_v4_f32(unsigned, unsigned) {
  __trap();
  return {};
}
__device__ __forceinline__ void mbarrier_arrive_at(unsigned, unsigned) { __trap(); }

#endif

#endif

}  // namespace SGEMM_TARGET
}  // namespace sgemm
