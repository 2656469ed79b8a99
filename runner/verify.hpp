#pragma once

#include "kernel.hpp"
#include "problem.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace sgemm {

/// The factor c(K) in the componentwise bound |C - C_ref| <= c(K) * eps * (|alpha| |A| |B| + |beta| |C0|),
/// eps = 2^-24. docs/measuring.md derives it for each accuracy class.
double bound_factor(AccuracyClass accuracy, std::int64_t k);

/// What comparing one C with its reference found.
struct Verdict {
  std::int64_t compared = 0;    ///< elements compared
  std::int64_t wrong = 0;       ///< elements outside their bound (an unexpected NaN is outside every bound)
  double rel_err = 0.0;         ///< relative Frobenius error over the compared elements that are finite in both
  double max_bound_ratio = 0.0; ///< largest |error| / bound over the same elements; above 1 is wrong
  std::int64_t first_wrong_row = -1;
  std::int64_t first_wrong_col = -1;
  double first_wrong_value = 0.0;
  double first_wrong_expected = 0.0;

  bool correct() const { return wrong == 0 && compared > 0; }
  /// One line for people: "17 of 4096 elements wrong, first C[3][5] = nan, expected 0.25 (bound 1e-06)".
  std::string describe() const;
};

/// Which elements of C a reference covers.
struct Coverage {
  /// Full comparison while m * n * k is at most this; sampled rows and columns above.
  double max_full_products = 68719476736.0;  // 4096^3
  /// Above it, one random row in every band of this many rows and one random column in every band of this many
  /// columns, plus the last row and column: every tile row, tile column and edge of every chapter is seen.
  std::int64_t band = 16;
};

/// Double-precision alpha * A * B + beta * C0 with its error bound, for all elements of C or for sampled whole rows
/// and whole columns. Computed once per problem and reused for every kernel. A sampled reference on a GPU also holds
/// cuBLAS SGEMM's whole result, and check() compares every element with it: each of the two may be off by its own
/// bound, so they may differ by the sum.
class Reference {
 public:
  /// `problem` holds the operands on the GPU (`on_gpu`) or on the host; problem.c holds C0 where beta != 0, and is not
  /// written. Throws CudaError, or std::bad_alloc when the workspace does not fit.
  static std::unique_ptr<Reference> compute(const Problem& problem, Platform platform, std::uint64_t seed,
                                            const Coverage& coverage = {});
  virtual ~Reference() = default;

  /// Compares the m x n matrix at `c` (same platform as the operands, row distance `ldc`) with the reference.
  virtual Verdict check(const float* c, std::int64_t ldc, AccuracyClass accuracy) const = 0;
  /// Whether every element is covered.
  virtual bool full() const = 0;
};

}  // namespace sgemm
