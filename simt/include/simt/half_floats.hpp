#pragma once

// Numbers as tensor cores take them: FP16 and BF16 of 16 bits, numbers of 8 bits, and TF32. Not inline: instrumented
// code would count what they compute.

#include <cstdint>
#include <span>

namespace simt {

enum class HalfFormat : std::uint8_t { fp16, bf16 };

/// `x` rounded to the nearest number of the format, ties to even; Inf beyond the largest. Every NaN becomes the same.
std::uint16_t to_fp16(float x);
std::uint16_t to_bf16(float x);
/// `x` rounded to the nearest number of TF32, ties away from 0; the 13 bits of the mantissa that it lacks are 0.
float to_tf32(float x);
/// Exact.
float from_fp16(std::uint16_t bits);
float from_bf16(std::uint16_t bits);
/// `x` rounded to the nearest number of 8 bits with 2 or 3 of mantissa, ties to even; the largest one beyond it.
std::uint8_t to_fp8(float x, unsigned mantissa_bits);
/// Exact.
float from_fp8(std::uint8_t bits, unsigned mantissa_bits);
/// Each of `halves`. `numbers` has room for as many.
void from_halves(HalfFormat format, std::span<const std::uint16_t> halves, std::span<float> numbers);

}  // namespace simt
