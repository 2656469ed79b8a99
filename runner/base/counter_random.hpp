#pragma once

#include "common/ceil_div.hpp"

#include <cstdint>

namespace sgemm {

/// Purposes that random bits are drawn for. Each purpose has a sequence of its own under the same seed.
enum class RandomStream : std::uint64_t { matrix_a = 1, matrix_b, matrix_c, sampled_rows, sampled_columns, judge };

/// Random bits by position: element `counter` of a sequence is a function of the seed, the stream and the counter
/// alone (splitmix64, Steele, Lea and Flood 2014, entered at any position), so parts can be made in any order and by
/// any number of threads.
class CounterRandom {
 public:
  SGEMM_HOST_DEVICE CounterRandom(std::uint64_t seed, RandomStream stream)
      : base_(mixed(mixed(seed) + static_cast<std::uint64_t>(stream))) {}

  SGEMM_HOST_DEVICE std::uint64_t operator()(std::uint64_t counter) const {
    return mixed(base_ + counter * GOLDEN_GAMMA);
  }

 private:
  static constexpr std::uint64_t GOLDEN_GAMMA = 0x9E3779B97F4A7C15U;

  SGEMM_HOST_DEVICE static constexpr std::uint64_t mixed(std::uint64_t z) {
    z += GOLDEN_GAMMA;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }

  std::uint64_t base_;
};

// Elements of operands that the host and the GPU make alike, to the last bit.

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
