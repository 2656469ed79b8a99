#pragma once

// Numbers of 16 bits, two to a register, as tensor cores take them: FP16 (5 bits of exponent, 10 of mantissa) and BF16
// (8 and 7).
// PTX ISA 9.0, "Data Movement and Conversion Instructions: cvt".

#include "common/target.hpp"

#include <cuda_runtime.h>

namespace sgemm {
inline namespace SGEMM_TARGET {

// What the two functions of each format do: pack(low, high) rounds to the nearest, ties to even, `low` into the lower
// 16 bits; unpack gives them back as floats. Beyond the largest number of a format lies Inf; NaN stays NaN.

struct Fp16 {
  __device__ __forceinline__ static unsigned pack(float low, float high) {
#ifdef __CUDACC__
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
#else
    return simt::to_fp16(low) | static_cast<unsigned>(simt::to_fp16(high)) << 16U;
#endif
  }
  __device__ __forceinline__ static float2 unpack(unsigned pair) {
#ifdef __CUDACC__
    float2 values;
    asm("{\n .reg .b16 low, high;\n mov.b32 {low, high}, %2;\n cvt.f32.f16 %0, low;\n cvt.f32.f16 %1, high;\n}"
        : "=f"(values.x), "=f"(values.y)
        : "r"(pair));
    return values;
#else
    return {simt::from_fp16(pair & 0xFFFFU), simt::from_fp16(pair >> 16U)};
#endif
  }
};

struct Bf16 {
  __device__ __forceinline__ static unsigned pack(float low, float high) {
#ifdef __CUDACC__
#if __CUDA_ARCH__ >= 800
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
#else
    __trap();
    return 0;
#endif
#else
    return simt::to_bf16(low) | static_cast<unsigned>(simt::to_bf16(high)) << 16U;
#endif
  }
  /// A BF16 number is the upper half of a float.
  __device__ __forceinline__ static float2 unpack(unsigned pair) {
    return {__uint_as_float(pair << 16U), __uint_as_float(pair & 0xFFFF0000U)};
  }
};

}  // namespace SGEMM_TARGET
}  // namespace sgemm
