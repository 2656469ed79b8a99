#pragma once

// library/engine/split_terms.cuh, and scales and digits of int8_operands.cuh, for tests that are not compiled for the
// executor.

#include <array>

namespace sgemm::test::split_parts {

constexpr int SCALED_EXPONENT = 14;
constexpr int SCALING_STEP = 8;

unsigned magnitude(float x);
int scaling_exponent(unsigned largest);
float scaled(float x, int exponent);

/// The parts of two numbers that are split together, the largest first.
template <int PARTS>
struct Parts {
  std::array<float, PARTS> x{};
  std::array<float, PARTS> y{};
};
Parts<2> split_to_fp16(float x, float y);
Parts<3> split_to_bf16(float x, float y);

// Of lines whose numbers become integers.
constexpr int LARGEST_INTEGER = 0x7F7F7F;
constexpr int LARGEST_EXPONENT = 149;
constexpr int UNSCALABLE_LINE = 255;
int scale_code(unsigned largest);
/// The digits of a number in a line of that code, the largest first.
std::array<int, 3> digits(float x, int code);

}  // namespace sgemm::test::split_parts
