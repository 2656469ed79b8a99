#pragma once

// Numbers as tensor cores take them: FP16 and BF16 of 16 bits, numbers of 8 bits, and TF32. Not inline: instrumented
// code would count what they compute.

#include <cstddef>
#include <cstdint>

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

/// Of factors of tensor cores; s8 are signed integers of 8 bits.
enum class MmaFormat : std::uint8_t { tf32, fp16, bf16, s8 };
constexpr unsigned bytes_of(MmaFormat format) {
  return format == MmaFormat::tf32 ? 4 : format == MmaFormat::s8 ? 1 : 2;
}
/// The numbers that so many bytes hold. The 13 mantissa bits that TF32 lacks are ignored.
void read_numbers(MmaFormat format, const void* from, std::size_t bytes, float* to);

}  // namespace simt
