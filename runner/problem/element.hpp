#pragma once

// Elements of operands that the host and the GPU make alike, to the last bit.

#include "base/counter_random.hpp"

#include <cstdint>

namespace sgemm {

/// 2^-24: the step of the random fractions, which then fit a float exactly.
constexpr float STEP = 0x1p-24F;

/// An odd multiple of 2^-24 in (-1, 1). The distribution is symmetric about 0 and never takes it.
SGEMM_HOST_DEVICE inline float uniform(const CounterRandom& random, std::uint64_t index) {
  const auto fraction = static_cast<std::int32_t>(random(index) >> 40U);  // 24 bits
  return static_cast<float>(2 * fraction + 1 - (std::int32_t{1} << 24U)) * STEP;
}

/// A whole number from -8 to 8.
SGEMM_HOST_DEVICE inline float integer(const CounterRandom& random, std::uint64_t index) {
  return static_cast<float>(static_cast<int>(random(index) % 17U) - 8);
}

}  // namespace sgemm
