#pragma once

// Stands in for CUDA's header of the same name: numbers of 16 bits with 5 of exponent.

#include <simt/half_arithmetic.hpp>

using __half = simt::Half<simt::HalfFormat::fp16>;
using __half2 = simt::Half2<simt::HalfFormat::fp16>;
using half = __half;
using half2 = __half2;

SIMT_HALF_CONVERSIONS(__half, __half2, half, half2)
inline float2 __half22float2(__half2 a) { return {a.x.value(), a.y.value()}; }
