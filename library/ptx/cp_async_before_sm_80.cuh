#pragma once

// The functions of kernels/ptx/cp_async.cuh for GPUs that have no such instructions: they copy at once.

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

}  // namespace sgemm::SGEMM_TARGET

#endif
