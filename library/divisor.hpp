#pragma once

#include "common/ceil_div.hpp"

#include <cstdint>

namespace sgemm {

/// A number that kernels divide by. A multiplication and a shift take the place of the division, which is some 25
/// instructions on a GPU. T. Granlund and P. L. Montgomery, "Division by Invariant Integers using Multiplication",
/// PLDI 1994.
class Divisor {
 public:
  /// `value` > 0.
  explicit Divisor(int value) : value_(value) {
    while (std::int64_t{1} << shift_ < value) {
      ++shift_;
    }
    shift_ += 31;
    factor_ = static_cast<std::uint32_t>(ceil_div<std::uint64_t>(std::uint64_t{1} << shift_, value));
  }

  /// `number` / value, rounded down; `number` >= 0.
  SGEMM_HOST_DEVICE int operator()(int number) const {
    return static_cast<int>(static_cast<std::uint64_t>(static_cast<std::uint32_t>(number)) * factor_ >> shift_);
  }
  /// What that leaves.
  SGEMM_HOST_DEVICE int rest(int number) const { return number - (*this)(number)*value_; }

 private:
  int value_;
  unsigned shift_ = 0;
  std::uint32_t factor_;
};

}  // namespace sgemm
