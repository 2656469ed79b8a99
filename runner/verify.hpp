#pragma once

#include "kernel.hpp"
#include "problem.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace sgemm {

/// The factor c(K) in the componentwise bound |C - C_ref| <= c(K) * eps * (|alpha| |A| |B| + |beta| |C0|),
/// eps = 2^-24. verify.cpp derives it for each accuracy class.
double bound_factor(AccuracyClass accuracy, std::int64_t k);

/// What comparing one C with its reference found.
///
/// Where the reference is NaN, C must be NaN; where it is +-Inf, C must be the same Inf. Where it is finite, C must lie
/// within the bound, except that the Inf of its sign is right as well when some value within the bound rounds to Inf
/// in single precision. Sums whose terms alone are beyond FLT_MAX, and cancel, have no such exception.
struct Verdict {
  /// Comparisons made. A sampled reference compares the crossings of sampled rows and columns twice, and on a GPU every
  /// element once more with cuBLAS.
  std::int64_t compared = 0;
  std::int64_t wrong = 0;        ///< comparisons outside their bound (an unexpected NaN is outside every bound)
  double rel_err = 0.0;          ///< relative Frobenius error against double precision, over elements finite in both
  double max_bound_ratio = 0.0;  ///< largest |error| / bound over elements finite in both; above 1 is wrong
  std::int64_t first_wrong_row = -1;
  std::int64_t first_wrong_col = -1;
  double first_wrong_value = 0.0;
  double first_wrong_expected = 0.0;
  double first_wrong_bound = 0.0;

  bool correct() const { return wrong == 0 && compared > 0; }
  /// One line for people: "17 of 4096 elements wrong, first C[3][5] = nan, expected 0.25 (bound 1e-06)".
  std::string describe() const;
};

/// Which elements of C a reference covers, and the memory that computing it may take.
struct Coverage {
  /// Full comparison while m * n * k is at most this and m * n at most max_full_elements; sampled rows and columns
  /// above.
  double max_full_products = 68719476736.0;                 // 4096^3
  std::int64_t max_full_elements = std::int64_t{1} << 26U;  // 8192^2: 1 GiB of reference
  /// In a sampled comparison, one random row in every band of this many rows and one random column in every band of
  /// this many columns, plus the first and the last row and column: every tile row, tile column and edge of every
  /// chapter is seen.
  std::int64_t band = 16;
  /// Copies of A and B are made panel by panel along k, so that one pair of panels takes about this much.
  std::size_t workspace_bytes = std::size_t{1} << 29U;
};

/// Double-precision alpha * A * B + beta * C0 with its error bound, for all elements of C or for sampled whole rows
/// and whole columns. Computed once per problem and reused for every kernel. A sampled reference on a GPU also holds
/// cuBLAS SGEMM's whole result, and check() compares every element with it: each of the two may be off by its own
/// bound, so they may differ by the sum.
class Reference {
 public:
  /// `problem` holds the operands in the memory of `platform`; problem.c holds C0 where beta != 0, and is not
  /// written. m and n are at least 1. On a GPU the default stream is used.
  ///
  /// Throws CudaError, CublasError, or std::bad_alloc when the workspace does not fit; std::length_error when the
  /// host's BLAS can not index the problem; std::runtime_error when cuBLAS's own result is outside its bound.
  static std::unique_ptr<Reference> compute(const Problem& problem, Platform platform, std::uint64_t seed,
                                            const Coverage& coverage = {});
  virtual ~Reference() = default;

  /// Compares the m x n matrix at `c` (same platform as the operands, row distance `ldc`) with the reference. On a GPU
  /// the work that wrote `c` is complete, or was enqueued on a stream that the default stream waits for.
  virtual Verdict check(const float* c, std::int64_t ldc, AccuracyClass accuracy) const = 0;
  /// Whether every element is compared with double precision.
  virtual bool full() const = 0;
};

}  // namespace sgemm
