#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// The shape of one problem: A is m x k, B is k x n, C is m x n.
struct Size {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;

  auto operator<=>(const Size&) const = default;
};

/// "MxNxK", as in benchmark names.
std::string to_string(const Size& size);

/// The sizes that a --sizes expression names: terms separated by commas, in the order written, without duplicates.
///
///     1000            M = N = K = 1000
///     256:8192        squares, doubling from 256 while at most 8192
///     256:8192:256    squares, from 256 in steps of 256 while at most 8192
///     4096x128x64     M x N x K
///
/// Every dimension is between 1 and 2^31 - 1, no matrix has more than 2^60 elements, and a range has at most 100000
/// sizes. Throws UsageError, naming the term, for anything else.
std::vector<Size> parse_sizes(std::string_view expression);

}  // namespace sgemm
