#pragma once

#include "common/problem.hpp"
#include "simt/checked_arrays.hpp"

#include <cstddef>
#include <vector>

namespace sgemm {

/// All the memory that a kernel may touch for `p`: A and B, which it reads, and C, which holds nothing where beta is 0.
inline std::vector<simt::GlobalArray> arrays_of(const Problem& p) {
  const auto bytes = [](std::int64_t floats) { return static_cast<std::size_t>(floats) * sizeof(float); };
  return {
      {"A", p.a, static_cast<std::size_t>(p.m), bytes(p.k), bytes(p.lda), false},
      {"B", p.b, static_cast<std::size_t>(p.k), bytes(p.n), bytes(p.ldb), false},
      {"C", p.c, static_cast<std::size_t>(p.m), bytes(p.n), bytes(p.ldc), true, false, sizeof(float), p.beta == 0.0F}};
}

}  // namespace sgemm
