#pragma once

// The judge's check of a result, one row at a time, the same for the host and the device.
//
// For a vector x of random signs, C x has to be alpha A (B x) + beta C0 x (Freivalds 1977): three products of a matrix
// and a vector in place of one of two matrices. Signs are drawn after the kernel was written and are kept from it.
//
// How far may a row be off? Element j may be off by b_j, its own bound (verify.hpp). The sum of x_j e_j with
// |e_j| <= b_j exceeds lambda |b|_2 with a probability of 2 exp(-lambda^2 / 2) at most (Hoeffding 1963), whatever the
// errors are. With lambda = 6 that is 3e-8, and errors of kernels are well below their bounds. |b|_2 is
//
//     factor (|alpha| sum_k |A_ik| |B_k|_2 + |beta| |C0_i|_2) + largest_factor max_k |A_ik| sqrt(N) max |B|
//     + floor sqrt(N)
//
// at most, where B_k is a row of B: the first sum is Minkowski's inequality.

#include "base/counter_random.hpp"
#include "common/ceil_div.hpp"
#include "verify/verify_element.hpp"

#include <cmath>
#include <cstdint>

namespace sgemm {

constexpr double LAMBDA = 6.0;

/// Signs of 64 neighbours, as bits.
SGEMM_HOST_DEVICE inline std::uint64_t signs_of_64(const CounterRandom& random, std::int64_t first) {
  return random(static_cast<std::uint64_t>(first) / 64U);
}

SGEMM_HOST_DEVICE inline double signed_by(std::uint64_t signs, std::int64_t index, double value) {
  return (signs >> (static_cast<std::uint64_t>(index) % 64U) & 1U) != 0U ? -value : value;
}

/// A row of B, or of C0: times the signs, its 2-norm squared, its largest magnitude.
struct RowOfSigns {
  double sum = 0.0;
  double squares = 0.0;
  double largest = 0.0;

  SGEMM_HOST_DEVICE void add(std::uint64_t signs, std::int64_t column, double value) {
    sum += signed_by(signs, column, value);
    squares += value * value;
    largest = std::fmax(largest, std::fabs(value));
  }
  SGEMM_HOST_DEVICE void merge(const RowOfSigns& other) {
    sum += other.sum;
    squares += other.squares;
    largest = std::fmax(largest, other.largest);
  }
};

/// What is known of a row of B once it has been read.
struct Factor {
  double sum = 0.0;
  double norm = 0.0;
  double largest = 0.0;
};

/// What a row of C has to be: A times the factors.
struct Expectation {
  double sum = 0.0;     ///< (A B x)_i
  double weight = 0.0;  ///< sum of |A_ik| |B_k|_2
  double largest_of_a = 0.0;
  double largest_of_b = 0.0;

  SGEMM_HOST_DEVICE void add(double a, const Factor& factor) {
    sum += a * factor.sum;
    weight += std::fabs(a) * factor.norm;
    largest_of_a = std::fmax(largest_of_a, std::fabs(a));
    largest_of_b = std::fmax(largest_of_b, factor.largest);
  }
  SGEMM_HOST_DEVICE void merge(const Expectation& other) {
    sum += other.sum;
    weight += other.weight;
    largest_of_a = std::fmax(largest_of_a, other.largest_of_a);
    largest_of_b = std::fmax(largest_of_b, other.largest_of_b);
  }
};

/// alpha, beta and the bound of one element, with the number of columns.
struct RowRule {
  double alpha = 1.0;
  double beta = 0.0;
  double columns = 0.0;
  ErrorBound bound;

  SGEMM_HOST_DEVICE double expected(const Expectation& row, const RowOfSigns& c0) const {
    return alpha * row.sum + (beta != 0.0 ? beta * c0.sum : 0.0);
  }
  SGEMM_HOST_DEVICE double allowed(const Expectation& row, const RowOfSigns& c0) const {
    const double terms = std::fabs(alpha) * row.weight + (beta != 0.0 ? std::fabs(beta) * std::sqrt(c0.squares) : 0.0);
    const double root = std::sqrt(columns);
    return LAMBDA *
           (bound.factor * terms + root * (bound.largest_factor * row.largest_of_a * row.largest_of_b + bound.floor));
  }
};

}  // namespace sgemm
