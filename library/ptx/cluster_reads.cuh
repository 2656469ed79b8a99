#pragma once

// Reads of other blocks' shared memory, and the barrier before them (sm_90 and later).
// PTX ISA 9.0, "Data Movement and Conversion Instructions: mapa, ld".

#include "ptx/cluster.cuh"

namespace sgemm::SGEMM_TARGET {

// cluster_sync_blocks(releases): cluster_sync() in less time, right after a barrier of each block. The warp that
// `releases`, one of each block, does so for what all of its block's threads have done. A release to a cluster waits
// for memory.
//
// cluster_sync_relaxed(): cluster_sync() without an order of memory, in less time. It is for reads that are over: no
// block may end, or write to its shared memory, while others still read it.
//
// ld_cluster_v4_f32(address, rank): loads four floats from this shared address, aligned to 16 bytes, in the block of
// that rank.

#ifdef __CUDACC__
#if __CUDA_ARCH__ >= 900

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

#else

__device__ __forceinline__ void cluster_sync_blocks(bool) { __trap(); }
__device__ __forceinline__ void cluster_sync_relaxed() { __trap(); }
__device__ __forceinline__ float4 ld_cluster_v4_f32(unsigned, unsigned) {
  __trap();
  return {};
}

#endif
#else  // the executor's

inline void cluster_sync_blocks(bool, simt::Site site = simt::Site::current()) { simt::cluster_barrier(site); }
inline void cluster_sync_relaxed(simt::Site site = simt::Site::current()) { simt::cluster_barrier(site); }

inline float4 ld_cluster_v4_f32(unsigned address, unsigned rank, simt::Site site = simt::Site::current()) {
  const std::array<float, 4> four = simt::load_four_in_cluster(address, rank, site);
  return {four[0], four[1], four[2], four[3]};
}

#endif

}  // namespace sgemm::SGEMM_TARGET
