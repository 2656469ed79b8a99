#pragma once

#include "problem.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace sgemm {

enum class Distribution {
  uniform,  ///< uniform on (-1, 1)
  normal,   ///< standard normal
  zeros,    ///< all zeros; real chips run faster on it, so it is never a default
};

std::string_view to_string(Distribution distribution);

/// Row distances for matrices without padding, and no operands.
Problem shape_of(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, float beta);

/// Host copies of one problem's inputs, row-major without padding between rows.
struct HostOperands {
  std::vector<float> a;   ///< m x k
  std::vector<float> b;   ///< k x n
  std::vector<float> c0;  ///< m x n, the C that beta multiplies; empty when beta is 0
};

/// Fills the operands of `problem` (m, n, k and beta are read). Every element depends only on the seed, the matrix
/// and its index, so the values are the same on every machine and for any number of threads.
HostOperands make_operands(const Problem& problem, Distribution distribution, std::uint64_t seed);

}  // namespace sgemm
