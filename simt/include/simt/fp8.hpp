#pragma once

#include <cstdint>

namespace simt {

/// `x` rounded to the nearest number of 8 bits with 2 or 3 of mantissa, ties to even; the largest one beyond it.
std::uint8_t to_fp8(float x, unsigned mantissa_bits);
/// Exact.
float from_fp8(std::uint8_t bits, unsigned mantissa_bits);

}  // namespace simt
