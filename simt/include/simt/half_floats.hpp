#pragma once

// Numbers of 16 bits as tensor cores take them: FP16 and BF16. The functions are not inline, because instrumented code
// would count their operations.

#include <cstdint>

namespace simt {

enum class HalfFormat : std::uint8_t { fp16, bf16 };

/// `x` rounded to the nearest number of the format, ties to even; Inf beyond the largest. Every NaN becomes the same.
std::uint16_t to_fp16(float x);
std::uint16_t to_bf16(float x);
/// Exact.
float from_fp16(std::uint16_t bits);
float from_bf16(std::uint16_t bits);

}  // namespace simt
