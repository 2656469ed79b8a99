#pragma once

// Stands in for CUDA's header of the same name: numbers of 16 bits with 8 of exponent, the upper halves of floats.

#include <simt/half_arithmetic.hpp>

using __nv_bfloat16 = simt::Half<simt::HalfFormat::bf16>;
using __nv_bfloat162 = simt::Half2<simt::HalfFormat::bf16>;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

SIMT_HALF_CONVERSIONS(__nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162)
inline float2 __bfloat1622float2(__nv_bfloat162 a) { return {a.x.value(), a.y.value()}; }
