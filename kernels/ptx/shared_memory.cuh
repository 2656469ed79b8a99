#pragma once

// A block's dynamic shared memory and its addresses.
// PTX ISA 9.0, "Data Movement and Conversion Instructions: cvta, ld".

#include "common/target.hpp"

#include <cuda_runtime.h>

namespace sgemm::SGEMM_TARGET {

// dynamic_smem(): the block's dynamic shared memory, aligned to 1024 bytes. Its size is chosen at launch.
//
// shared_address(pointer): the 32-bit address that PTX uses for shared memory. Take it once, outside loops, and add
// byte offsets: converting a generic pointer costs several instructions.
//
// from_shared_address(address): the pointer that has this shared address.
//
// ld_shared_v4_f32(address): loads four floats from a shared address, which is aligned to 16 bytes.

#ifdef __CUDACC__

__device__ __forceinline__ float* dynamic_smem() {
  extern __shared__ __align__(1024) float4 dynamic_smem_storage[];
  return reinterpret_cast<float*>(dynamic_smem_storage);
}

__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ const void* from_shared_address(unsigned address) {
  return __cvta_shared_to_generic(address);
}

__device__ __forceinline__ float4 ld_shared_v4_f32(unsigned address) {
  float4 value;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
               : "r"(address));
  return value;
}

#endif

}  // namespace sgemm::SGEMM_TARGET
