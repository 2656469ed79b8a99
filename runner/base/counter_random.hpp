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

}  // namespace sgemm
