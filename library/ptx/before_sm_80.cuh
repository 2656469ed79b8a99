#pragma once

// Functions of kernels/ptx/cp_async.cuh and mma.cuh for GPUs before sm_80, which have no such instructions. Copies are
// made at once, and a product of 16 x 8 x 32 is four of 8 x 8 x 16, whose registers are the same.

#include "common/target.hpp"

#include <cuda_runtime.h>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800

namespace sgemm::SGEMM_TARGET {

template <int BYTES>
__device__ __forceinline__ void cp_async_zfill(unsigned destination, const void* source, bool valid) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16);
  const auto* const from = static_cast<const unsigned*>(source);
  auto* const to = static_cast<unsigned*>(__cvta_shared_to_generic(destination));
#pragma unroll
  for (int i = 0; i < BYTES / 4; ++i) {
    to[i] = valid ? from[i] : 0U;
  }
}

template <int BYTES, int OFFSET = 0>
__device__ __forceinline__ void cp_async(unsigned destination, const void* source) {
  cp_async_zfill<BYTES>(destination + OFFSET, static_cast<const unsigned char*>(source) + OFFSET, true);
}

__device__ __forceinline__ void cp_async_commit_group() {}

template <int PENDING>
__device__ __forceinline__ void cp_async_wait_group() {}

__device__ __forceinline__ void mma_m16n8k32_s8(int* d, const unsigned (&a)[4], unsigned b0, unsigned b1) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(d[i % 2 * 2]), "+r"(d[i % 2 * 2 + 1])
                 : "r"(a[i]), "r"(i < 2 ? b0 : b1));
  }
}

}  // namespace sgemm::SGEMM_TARGET

#endif
