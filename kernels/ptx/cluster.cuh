#pragma once

// Clusters of blocks that read and write each other's shared memory (sm_90 and later). PTX ISA 9.0, "Parallel
// Synchronization and Communication Instructions: barrier.cluster", "Data Movement and Conversion Instructions: mapa".

#include "common/target.hpp"
#include "ptx/shared_memory.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sgemm {
inline namespace SGEMM_TARGET {

// cluster_rank(): the block's number in its cluster.
//
// cluster_sync(): a barrier of all threads of a cluster. What they wrote to shared memory before it is there behind it.
//
// st_cluster(address, rank, value): stores a value of 4 or 8 bytes at the place of the shared address `address` in the
// memory of block number `rank`. ld_cluster_u64(address, rank) loads from there.

#ifdef __CUDACC__

__device__ __forceinline__ unsigned cluster_rank() {
  unsigned rank = 0;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ __forceinline__ unsigned address_in_cluster(unsigned address, unsigned rank) {
  unsigned mapped = 0;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}

__device__ __forceinline__ void st_cluster(unsigned address, unsigned rank, unsigned value) {
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address_in_cluster(address, rank)), "r"(value) : "memory");
}

__device__ __forceinline__ void st_cluster(unsigned address, unsigned rank, std::int64_t value) {
  asm volatile("st.shared::cluster.u64 [%0], %1;" ::"r"(address_in_cluster(address, rank)), "l"(value) : "memory");
}

__device__ __forceinline__ std::int64_t ld_cluster_s64(unsigned address, unsigned rank) {
  std::int64_t value = 0;
  asm volatile("ld.shared::cluster.u64 %0, [%1];" : "=l"(value) : "r"(address_in_cluster(address, rank)) : "memory");
  return value;
}

#else  // the executor's: every block is a cluster

inline unsigned cluster_rank() { return 0; }

inline void cluster_sync() { __syncthreads(); }

inline void st_cluster(unsigned address, unsigned, unsigned value) {
  *static_cast<unsigned*>(const_cast<void*>(from_shared_address(address))) = value;
}

inline void st_cluster(unsigned address, unsigned, std::int64_t value) {
  *static_cast<std::int64_t*>(const_cast<void*>(from_shared_address(address))) = value;
}

inline std::int64_t ld_cluster_s64(unsigned address, unsigned) {
  return *static_cast<const std::int64_t*>(from_shared_address(address));
}

#endif

}  // namespace SGEMM_TARGET
}  // namespace sgemm
