#pragma once

// The definition of the reproducible class, element by element: docs/15_reproducible.md in C++.

#include "common/problem.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace sgemm::reproducible {

/// Results of the same definition have the same bits.
inline constexpr int DEFINITION = 1;

static_assert(std::numeric_limits<float>::is_iec559 && std::numeric_limits<double>::is_iec559);

/// The numbers of a row of op(A) or a column of op(B), and the integers that they become.
class Line {
 public:
  using Digits = std::array<std::int8_t, 3>;  ///< the largest first

  Line(const float* first, std::int64_t stride, std::int64_t k) : first_(first), stride_(stride) {
    std::uint32_t largest = 0;
    for (std::int64_t p = 0; p < k; ++p) {
      const std::uint32_t magnitude = std::bit_cast<std::uint32_t>((*this)[p]) & 0x7FFFFFFFU;
      largest = magnitude > largest ? magnitude : largest;
    }
    code_ = code_of(largest);
    digits_.reserve(static_cast<std::size_t>(k));
    for (std::int64_t p = 0; p < k && scalable(); ++p) {
      digits_.push_back(digits_of((*this)[p]));
    }
  }

  float operator[](std::int64_t p) const { return first_[p * stride_]; }
  int code() const { return code_; }
  bool scalable() const { return code_ != UNSCALABLE; }
  const Digits& digits(std::int64_t p) const { return digits_[static_cast<std::size_t>(p)]; }

 private:
  static constexpr int UNSCALABLE = 255;

  /// The scale of the line is 2^(149 - code), the largest by which its largest number comes to at most 0x7F7F7F, three
  /// digits of 127. The number is 2^(exponent - 150) times a mantissa of 24 bits, half of which is rounded to that.
  static int code_of(std::uint32_t largest) {
    constexpr std::uint32_t IMPLICIT = 1U << 23U;
    const std::uint32_t mantissa = largest % IMPLICIT + IMPLICIT;
    const int code = static_cast<int>(largest / IMPLICIT) + (mantissa > 2 * 0x7F7F7F ? 1 : 0);
    return largest == 0 ? 127 : code >= 1 && code <= 254 ? code : UNSCALABLE;
  }

  /// Digits to the base 256 of the nearest integer, and of two nearest ones the even one.
  Digits digits_of(float x) const {
    auto rest = static_cast<std::int32_t>(std::nearbyint(std::ldexp(static_cast<double>(x), 149 - code_)));
    Digits digits{};
    for (const std::size_t i : {2, 1, 0}) {
      digits[i] = static_cast<std::int8_t>(((rest + 128) & 255) - 128);
      rest = (rest - digits[i]) / 256;
    }
    return digits;
  }

  const float* first_;
  std::int64_t stride_;
  int code_ = UNSCALABLE;
  std::vector<Digits> digits_;
};

/// What one k adds to an exact sum: six of the nine products of digits, in units of the smallest.
inline std::int64_t products(const Line::Digits& a, const Line::Digits& b) {
  return std::int64_t{a[0] * b[0]} * 65536 + (a[0] * b[1] + a[1] * b[0]) * 256 + a[0] * b[2] + a[1] * b[1] +
         a[2] * b[0];
}

/// An element of op(A) * op(B) from its exact sum.
inline double unscaled(std::int64_t sum, const Line& row, const Line& column) {
  return std::ldexp(static_cast<double>(sum), row.code() + column.code() - 282);
}

/// An element of op(A) * op(B) whose row or column is not scalable.
inline double sum_in_order(const Line& row, const Line& column, std::int64_t k) {
  double sum = 0.0;
  for (std::int64_t p = 0; p < k; ++p) {
    sum = std::fma(static_cast<double>(row[p]), static_cast<double>(column[p]), sum);
  }
  return sum;
}

/// What is stored in place of `c`, which is not read where beta is 0. `product` is alpha times an element of
/// op(A) * op(B), or 0 where alpha or k is 0.
inline float updated(double product, float beta, const float& c) {
  const double value = beta == 0.0F ? product : std::fma(static_cast<double>(beta), static_cast<double>(c), product);
  return std::isnan(value) ? std::bit_cast<float>(0x7FFFFFFFU) : static_cast<float>(value);
}

/// C = alpha * op(A) * op(B) + beta * C of each product of a batch by the definition, element after element. It takes
/// operands of every layout in the host's memory.
void reference(const Problem& p);

/// The same bits, by all of the host's processors and their widest vectors.
void product(const Problem& p);

}  // namespace sgemm::reproducible
