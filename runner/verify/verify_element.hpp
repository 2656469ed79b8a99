#pragma once

// The check of one element and the sum over many, the same for the host and the device.

#include "common/ceil_div.hpp"

#include <cmath>
#include <cstdint>

namespace sgemm {

/// How large the terms of an element are, and may have been.
struct Terms {
  double magnitude = 0.0;  ///< of |alpha| |A| |B| + |beta| |C0|
  double largest = 0.0;    ///< the largest number of its row of A times that of its column of B
};

/// How far an element may be from its reference: factor * magnitude + largest_factor * largest + floor.
struct ErrorBound {
  double factor = 0.0;
  double floor = 0.0;           ///< what underflow may add
  double largest_factor = 0.0;  ///< 0 for classes that do not look at the largest numbers, which may be Inf

  SGEMM_HOST_DEVICE double of(const Terms& terms) const {
    return factor * terms.magnitude + (largest_factor > 0.0 ? largest_factor * terms.largest : 0.0) + floor;
  }
};

/// Whether `got` is not an acceptable result for `expected`; Verdict states the rules.
SGEMM_HOST_DEVICE inline bool is_wrong(double got, double expected, double bound) {
  constexpr double ROUNDS_TO_INF = 0x1.FFFFFFp127;  // halfway from FLT_MAX to 2^128
  if (std::isnan(expected)) {
    return !std::isnan(got);
  }
  if (std::isinf(expected)) {
    return !(got == expected);
  }
  if (std::isinf(got)) {
    return !((got > 0.0 ? expected : -expected) + bound >= ROUNDS_TO_INF);
  }
  return !(std::fabs(got - expected) <= bound);
}

/// The findings of comparing a set of elements. Sets are merged in any order, with the same result up to the rounding
/// of the sums of squares.
struct Tally {
  static constexpr std::int64_t NONE = INT64_MAX;

  /// Comparisons made. A sampled reference compares the crossings of sampled rows and columns twice, and on a GPU every
  /// element once more with cuBLAS.
  std::int64_t compared = 0;
  std::int64_t wrong = 0;           ///< comparisons outside their bound (an unexpected NaN is outside every bound)
  std::int64_t first_wrong = NONE;  ///< the lowest row * n + column
  double first_wrong_value = 0.0;
  double first_wrong_expected = 0.0;
  double first_wrong_bound = 0.0;
  std::int64_t non_finite = 0;        ///< comparisons that expected Inf or NaN
  std::int64_t non_finite_wrong = 0;  ///< wrong comparisons that found or expected Inf or NaN
  /// Largest |error| / bound; above 1 is wrong. This and the measures below are over elements finite in both.
  double max_bound_ratio = 0.0;
  /// Largest |C - C_ref| / (|alpha| |A| |B| + |beta| |C0|), element by element: the componentwise measure that the
  /// bounds of inner products are stated in (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 3.1).
  /// Where the denominator is 0 an element must be exact, or is wrong.
  double componentwise_err = 0.0;
  double error_squares = 0.0;      ///< sum of (got - expected)^2
  double reference_squares = 0.0;  ///< sum of expected^2
  double magnitude_squares = 0.0;  ///< sum of magnitude^2

  /// Checks an element and measures its error. Where the magnitude is 0, all terms are 0, and `got` must be exact.
  SGEMM_HOST_DEVICE void add(double got, double expected, const Terms& terms, const ErrorBound& bound,
                             std::int64_t index) {
    const double magnitude = terms.magnitude;
    check(got, expected, magnitude == 0.0 ? 0.0 : bound.of(terms), index);
    if (std::isfinite(got) && std::isfinite(expected)) {
      const double error = std::fabs(got - expected);
      componentwise_err = std::fmax(componentwise_err, error / magnitude);  // fmax passes over 0 / 0
      error_squares += error * error;
      reference_squares += expected * expected;
      magnitude_squares += magnitude * magnitude;
    }
  }

  /// Checks an element against an expectation that is too coarse to measure errors by.
  SGEMM_HOST_DEVICE void check(double got, double expected, double bound, std::int64_t index) {
    ++compared;
    const bool both_finite = std::isfinite(got) && std::isfinite(expected);
    if (both_finite) {
      max_bound_ratio = std::fmax(max_bound_ratio, std::fabs(got - expected) / bound);
    }
    non_finite += std::isfinite(expected) ? 0 : 1;
    if (is_wrong(got, expected, bound)) {
      ++wrong;
      non_finite_wrong += both_finite ? 0 : 1;
      note_wrong(index, got, expected, bound);
    }
  }

  SGEMM_HOST_DEVICE void merge(const Tally& other) {
    compared += other.compared;
    wrong += other.wrong;
    non_finite += other.non_finite;
    non_finite_wrong += other.non_finite_wrong;
    max_bound_ratio = std::fmax(max_bound_ratio, other.max_bound_ratio);
    componentwise_err = std::fmax(componentwise_err, other.componentwise_err);
    error_squares += other.error_squares;
    reference_squares += other.reference_squares;
    magnitude_squares += other.magnitude_squares;
    note_wrong(other.first_wrong, other.first_wrong_value, other.first_wrong_expected, other.first_wrong_bound);
  }

 private:
  SGEMM_HOST_DEVICE void note_wrong(std::int64_t index, double got, double expected, double bound) {
    if (index < first_wrong) {
      first_wrong = index;
      first_wrong_value = got;
      first_wrong_expected = expected;
      first_wrong_bound = bound;
    }
  }
};

}  // namespace sgemm
