#pragma once

// kernels/engine/split_terms.cuh, for tests that are not compiled for the executor.

#include <array>

namespace sgemm::test::split_parts {

constexpr int SCALED_EXPONENT = 14;
constexpr int SCALING_STEP = 8;

float power_of_2(int exponent);
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

}  // namespace sgemm::test::split_parts
