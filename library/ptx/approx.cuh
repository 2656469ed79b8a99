#pragma once

// Approximations by the special function units, each one instruction: PTX ISA, "ex2" and "rcp". Numbers below 2^-126
// count as zeros.

#include "common/target.hpp"

#include <cuda_runtime.h>

namespace sgemm::SGEMM_TARGET {

#ifdef __CUDACC__

/// 2^x, with a relative error of at most 2^-22.
__device__ __forceinline__ float ex2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// 1 / x, with a relative error of at most 2^-23.
__device__ __forceinline__ float rcp_approx(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

#else

inline float ex2_approx(float x) { return __builtin_exp2f(x); }
inline float rcp_approx(float x) { return 1.0F / x; }

#endif

}  // namespace sgemm::SGEMM_TARGET
