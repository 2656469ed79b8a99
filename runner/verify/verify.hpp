#pragma once

#include "base/kernel.hpp"
#include "common/problem.hpp"
#include "verify/verify_element.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace sgemm {

/// An assumption about the roundings in a sum.
enum class Roundings {
  independent,  ///< they average out, and the bound grows with sqrt(K)
  any,          ///< nothing: the bound grows with K
};

/// The factor c(K) in the componentwise bound |C - C_ref| <= c(K) * eps * (|alpha| |A| |B| + |beta| |C0|), eps = 2^-24.
/// verify.cpp derives it for each accuracy class; those of products in split operands (fp32_split, bf16_split,
/// fp16_split) share one. promises() in accuracy.hpp says for which operands a class keeps to its bound.
double bound_factor(AccuracyClass accuracy, std::int64_t k, Roundings roundings = Roundings::independent);

/// The factor of a further term of that bound, eps * |alpha| * the largest magnitude of the element's row of A * that
/// of its column of B: 0 for all classes but int8_split and fp32_strassen.
double largest_factor(AccuracyClass accuracy, std::int64_t k);

/// The findings of comparing one C with its reference.
///
/// Where the reference is NaN, C must be NaN; where it is +-Inf, C must be the same Inf. Where it is finite, C must lie
/// within the bound, except that the Inf of its sign is right as well when some value within the bound rounds to Inf in
/// single precision. This exception does not hold for sums whose terms are beyond FLT_MAX and cancel.
struct Verdict : Tally {
  bool full = false;                                ///< whether every element was compared with double precision
  std::optional<std::int64_t> first_wrong_product;  ///< its number in the batch, from 0; nothing for a single product
  std::int64_t first_wrong_row = -1;
  std::int64_t first_wrong_col = -1;

  /// Relative Frobenius error against double precision, |C - C_ref|_F / |C_ref|_F. Inf against a reference of zeros.
  double rel_err() const;
  /// How much larger the terms are than the sums that they leave: ||alpha| |A| |B| + |beta| |C0||_F / |C_ref|_F. Absent
  /// against a reference of zeros.
  std::optional<double> condition() const;
  bool correct() const { return wrong == 0 && compared > 0; }
  /// Makes this the verdict of the C that consists of its own elements and of `other`'s. A verdict that compared
  /// nothing changes nothing.
  void join(const Verdict& other);
  /// One line for people: "17 of 4096 elements wrong, first C[3][5] = nan, expected 0.25 (bound 1e-06)".
  std::string describe() const;
};

/// Which elements of C a reference covers, and the memory that computing it may take.
struct Coverage {
  /// Every element is compared while m * n * k is at most this and m * n at most max_full_elements. Larger problems are
  /// sampled.
  double max_full_products = 68719476736.0;                 // 4096^3
  std::int64_t max_full_elements = std::int64_t{1} << 26U;  // 8192^2: 1 GiB of reference
  /// A sampled comparison takes one random row of every band of this many rows, one random column of every band of this
  /// many columns, and the first and the last row and column. So it sees every tile row, tile column and edge of every
  /// chapter.
  std::int64_t band = 16;
  /// Copies of A and B are made panel by panel along k, so that one pair of panels takes about this much.
  std::size_t workspace_bytes = std::size_t{1} << 29U;
};

/// Double-precision alpha * A * B + beta * C0 with its error bound, for all elements of C or for sampled whole rows
/// and whole columns, in each product of a batch. Computed once per problem and reused for every kernel. A sampled
/// reference on a GPU also holds cuBLAS SGEMM's whole result, and check() compares every element with it: each of the
/// two may be off by its own bound, so they may differ by the sum.
class Reference {
 public:
  /// `problem` holds the operands in the memory of `platform`; problem.c holds C0 where beta != 0, and is not
  /// written. m and n are at least 1. On a GPU the default stream is used.
  ///
  /// Throws CudaError, CublasError, or std::bad_alloc when the workspace does not fit; std::length_error when the
  /// host's BLAS can not index the problem; std::runtime_error when cuBLAS's own result is outside its bound.
  static std::unique_ptr<Reference> compute(const Problem& problem, Platform platform, std::uint64_t seed,
                                            const Coverage& coverage = {},
                                            Roundings roundings = Roundings::independent);
  virtual ~Reference() = default;

  /// Compares the m x n matrix at `c` (same platform as the operands, row distance `ldc`), and those of a batch that
  /// follow it, with the reference. On a GPU the work that wrote `c` is complete, or was enqueued on a stream that the
  /// default stream waits for.
  virtual Verdict check(const float* c, std::int64_t ldc, AccuracyClass accuracy) const = 0;
};

/// What a wrong C looks like, in one sentence that begins with "; ": another product of the same operands, a product
/// without a factor or a part of the sum, with rounded operands, or a C that was not written. Empty where nothing fits.
///
/// The problem is the host's, with C0 as its C where beta is not 0. `c` holds the result, without gaps between rows.
std::string cause_of_wrong(const Problem& problem, const float* c);

}  // namespace sgemm
