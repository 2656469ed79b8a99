#pragma once

namespace sgemm {

/// The block's dynamic shared memory, aligned for 128-bit access; its size is chosen at launch.
__device__ __forceinline__ float* dynamic_smem() {
  extern __shared__ float4 dynamic_smem_storage[];
  return reinterpret_cast<float*>(dynamic_smem_storage);
}

}  // namespace sgemm
