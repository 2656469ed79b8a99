#pragma once

#include "problem/batch.hpp"

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// The extents of a product. A Shape has alpha and beta as well, which are the protocol's.
struct Size {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool transposed_a = false;
  bool transposed_b = false;
  std::int64_t batch = 1;

  // clang-tidy 14 takes the 0 that generated comparisons have for a null pointer.
  auto operator<=>(const Size&) const = default;  // NOLINT(modernize-use-nullptr)
};

Shape shape_of(const Size& size, float alpha, float beta);

/// What BLAS calls the operations on A and B: "nn", "nt", "tn" or "tt".
std::string ops_of(const Size& size);

/// "MxNxK", as in benchmark names; "MxNxK:tn" where A is transposed, "BxMxNxK" for a batch of B products.
std::string to_string(const Size& size);

/// The sizes that a --sizes expression names: terms separated by commas, in the order written, without duplicates.
/// --help says what terms there are, and runner/tests/sizes.txt has what they stand for.
///
/// Every dimension and batch is between 1 and 2^31 - 1, the matrices A, B or C of a batch have at most 2^60 elements,
/// and a range has at most 100000 sizes. Throws UsageError, naming the term, for anything else.
std::vector<Size> parse_sizes(std::string_view expression);

}  // namespace sgemm
