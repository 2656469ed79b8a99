#pragma once

#include "common/problem.hpp"
#include "simt/global_array.hpp"

#include <vector>

namespace sgemm {

/// All the memory that a kernel may touch for `p`: A and B, which it reads, and C, which holds nothing where beta is 0.
inline std::vector<simt::GlobalArray> arrays_of(const Problem& p) {
  const simt::Extents of_c{p.batch * p.m, p.n, p.ldc};
  const auto of_input = [&](std::int64_t rows, std::int64_t columns, bool transposed, std::int64_t stride) {
    return transposed ? simt::Extents{p.batch * columns, rows, stride} : simt::Extents{p.batch * rows, columns, stride};
  };
  return {simt::input("A", p.a, of_input(p.m, p.k, p.transposed_a, p.lda)),
          simt::input("B", p.b, of_input(p.k, p.n, p.transposed_b, p.ldb)),
          p.beta == 0.0F ? simt::output("C", p.c, of_c) : simt::in_out("C", p.c, of_c)};
}

}  // namespace sgemm
