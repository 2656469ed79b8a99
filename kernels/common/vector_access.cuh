#pragma once

// Moving two or four neighbouring floats in one access.

#include "common/target.hpp"

#include <cuda_runtime.h>

namespace sgemm::SGEMM_TARGET {

/// How many neighbouring floats a kernel moves in one access. Wider accesses need rows that split into aligned groups.
enum class Access { float1 = 1, float2 = 2, float4 = 4 };

/// Loads four floats; `source` is aligned to 16 bytes.
__device__ __forceinline__ float4 load_float4(const float* source) { return *reinterpret_cast<const float4*>(source); }

/// Loads four floats, or zeros where `inside` is false.
__device__ __forceinline__ float4 load_float4_or_zero(const float* source, bool inside) {
  return inside ? load_float4(source) : float4{0.0F, 0.0F, 0.0F, 0.0F};
}

/// Writes the numbers of `four` to four neighbouring registers.
__device__ __forceinline__ void unpack(const float4& four, float* registers) {
  registers[0] = four.x;
  registers[1] = four.y;
  registers[2] = four.z;
  registers[3] = four.w;
}

/// Stores four floats; `destination` is aligned to 16 bytes.
__device__ __forceinline__ void store_float4(float* destination, float4 value) {
  *reinterpret_cast<float4*>(destination) = value;
}

/// Loads COUNT floats (a multiple of 4) that lie in groups of four, STRIDE floats apart, into registers.
template <int COUNT, int STRIDE>
__device__ __forceinline__ void load_groups_of_4(float (&registers)[COUNT], const float* source) {
  static_assert(COUNT % 4 == 0 && STRIDE % 4 == 0);
#pragma unroll
  for (int group = 0; group < COUNT / 4; ++group) {
    unpack(load_float4(source + group * STRIDE), registers + 4 * group);
  }
}

}  // namespace sgemm::SGEMM_TARGET
