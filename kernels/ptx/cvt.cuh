#pragma once

// Conversions of floats to the formats that tensor cores take, and back: TF32 (8 bits of exponent, 10 of mantissa), and
// two to a register FP16 (5 and 10) and BF16 (8 and 7).
// PTX ISA 9.0, "Data Movement and Conversion Instructions: cvt".

#include "common/target.hpp"

#include <cuda_runtime.h>

namespace sgemm::SGEMM_TARGET {

// cvt_rn_f16x2_f32(high, low), cvt_rn_bf16x2_f32(high, low): round to the nearest, ties to even, `low` into the lower
// 16 bits. Numbers beyond a format's largest become Inf; NaN stays NaN.
//
// cvt_f32_f16x2(pair), cvt_f32_bf16x2(pair): return both numbers as floats, the lower one as x.
//
// cvt_rn_tf32_f32(x): rounds to TF32. The bits of the mantissa that TF32 lacks are 0. Numbers above TF32's largest,
// which lies close below FLT_MAX, become Inf. The conversion is one instruction from sm_90 on; elsewhere ties are
// rounded away from 0.

#ifdef __CUDACC__

__device__ __forceinline__ unsigned cvt_rn_f16x2_f32(float high, float low) {
  unsigned pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

__device__ __forceinline__ unsigned cvt_rn_bf16x2_f32(float high, float low) {
#if __CUDA_ARCH__ >= 800
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  __trap();
  return 0;
#endif
}

__device__ __forceinline__ float2 cvt_f32_f16x2(unsigned pair) {
  float2 values;
  asm("{\n .reg .b16 low, high;\n mov.b32 {low, high}, %2;\n cvt.f32.f16 %0, low;\n cvt.f32.f16 %1, high;\n}"
      : "=f"(values.x), "=f"(values.y)
      : "r"(pair));
  return values;
}

#endif

/// A BF16 number is the upper half of a float.
__device__ __forceinline__ float2 cvt_f32_bf16x2(unsigned pair) {
  return {__uint_as_float(pair << 16U), __uint_as_float(pair & 0xFFFF0000U)};
}

__device__ __forceinline__ float cvt_rn_tf32_f32(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  unsigned bits;
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return __uint_as_float(bits);
#else
  constexpr unsigned HALF = 1U << 12U;
  constexpr unsigned KEPT = ~0U << 13U;
  return __uint_as_float((__float_as_uint(x) + HALF) & KEPT);
#endif
}

/// FP16 and BF16 as template arguments.
struct Fp16 {
  __device__ __forceinline__ static unsigned pack(float low, float high) { return cvt_rn_f16x2_f32(high, low); }
  __device__ __forceinline__ static float2 unpack(unsigned pair) { return cvt_f32_f16x2(pair); }
};
struct Bf16 {
  __device__ __forceinline__ static unsigned pack(float low, float high) { return cvt_rn_bf16x2_f32(high, low); }
  __device__ __forceinline__ static float2 unpack(unsigned pair) { return cvt_f32_bf16x2(pair); }
};

}  // namespace sgemm::SGEMM_TARGET
