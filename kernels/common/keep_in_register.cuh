#pragma once

#include "common/target.hpp"

#include <cuda_runtime.h>

namespace sgemm::SGEMM_TARGET {

/// Returns `value` in a way that the compiler can not see through. So the compiler does not compute `value` again at
/// every use. Nor does it compute in advance what depends on `value` and keep that in registers.
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

}  // namespace sgemm::SGEMM_TARGET
