#pragma once

#include "common/target.hpp"

#include <cuda_runtime.h>

namespace sgemm {
inline namespace SGEMM_TARGET {

/// The block's dynamic shared memory, aligned to 1024 bytes; its size is chosen at launch.
__device__ __forceinline__ float* dynamic_smem() {
#ifdef __CUDACC__
  extern __shared__ __align__(1024) float4 dynamic_smem_storage[];
  return reinterpret_cast<float*>(dynamic_smem_storage);
#else
  return static_cast<float*>(simt::dynamic_shared_memory());
#endif
}

}  // namespace SGEMM_TARGET
}  // namespace sgemm
