#pragma once

#include "common/target.hpp"

#include <cuda_runtime.h>

namespace sgemm {
inline namespace SGEMM_TARGET {

/// Returns `value` as something that the compiler can not see through: it neither computes it again at every use nor
/// computes in advance, and keeps in registers, what depends on it.
__device__ __forceinline__ unsigned keep_in_register(unsigned value) {
#ifdef __CUDACC__
  asm volatile("" : "+r"(value));
#endif
  return value;
}
__device__ __forceinline__ const float* keep_in_register(const float* value) {
#ifdef __CUDACC__
  asm volatile("" : "+l"(value));
#endif
  return value;
}

}  // namespace SGEMM_TARGET
}  // namespace sgemm
