#pragma once

#include "judge/projection.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace sgemm {

// The work of a Witness on the GPU. Launches of a sample have a matrix each, of the same extents without padding.

constexpr int MOST_MATRICES = 32;

struct Matrices {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  int count = 0;
  float* data[MOST_MATRICES]{};  // NOLINT(modernize-avoid-c-arrays): for device code
};

struct Seeds {
  std::uint64_t of_launch[MOST_MATRICES]{};  // NOLINT(modernize-avoid-c-arrays)
};

enum class Fill { uniform, uniform01, integers };

/// What a look at the results of a sample found.
struct LookFindings {
  unsigned long long wrong = 0;  ///< rows
  int launch = 0;                ///< of one wrong row
  long long row = 0;
  double error = 0.0;  ///< may be NaN
  double allowed = 0.0;
  double error_squares[MOST_MATRICES]{};  ///< sums over the rows of each launch  NOLINT(modernize-avoid-c-arrays)
  double value_squares[MOST_MATRICES]{};  // NOLINT(modernize-avoid-c-arrays)
  unsigned long long changed_in_a = 0;    ///< elements
  unsigned long long changed_in_b = 0;
};

/// Of all launches: as many matrices A as B, and a seed for each launch.
void enqueue_fill(const Matrices& a, const Matrices& b, const Seeds& seeds, Fill fill, cudaStream_t stream);
// What results are compared with is made of the seeds and not of the operands in memory, which a kernel may have
// changed.

/// B times the signs: a factor for each row of each matrix.
void enqueue_factors(const Matrices& b, const Seeds& seeds, Fill fill, std::uint64_t signs, Factor* factors,
                     cudaStream_t stream);
/// C0 times the signs.
void enqueue_signed_rows(const Matrices& c0, std::uint64_t signs, RowOfSigns* rows, cudaStream_t stream);
/// A times the factors of the same launch.
void enqueue_expectations(const Matrices& a, const Seeds& seeds, Fill fill, const Factor* factors,
                          Expectation* expected, cudaStream_t stream);
/// `findings` are all zeros; `c0` has one matrix's rows, or is null where beta is 0.
void enqueue_look(const Matrices& c, std::uint64_t signs, const Expectation* expected, const RowOfSigns* c0,
                  const RowRule& rule, LookFindings* findings, cudaStream_t stream);
/// Counts the elements of A and B that are not what enqueue_fill() has made.
void enqueue_compare(const Matrices& a, const Matrices& b, const Seeds& seeds, Fill fill, LookFindings* findings,
                     cudaStream_t stream);

}  // namespace sgemm
