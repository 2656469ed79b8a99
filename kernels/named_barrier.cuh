#pragma once

namespace sgemm {

/// Waits until `threads` threads of the block (a multiple of 32, whole warps) have arrived at barrier `id` (0 to 15;
/// 0 is the one __syncthreads uses). Orders their shared-memory accesses before and after it.
/// PTX ISA 9.0, "Parallel Synchronization and Communication Instructions: bar".
__device__ __forceinline__ void named_barrier_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

}  // namespace sgemm
