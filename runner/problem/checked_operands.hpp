#pragma once

#include "common/problem.hpp"
#include "simt/global_array.hpp"

#include <vector>

namespace sgemm {

/// All the memory that a kernel may touch for `p`: A and B, which it reads, and C, which holds nothing where beta is 0.
inline std::vector<simt::GlobalArray> arrays_of(const Problem& p) {
  const simt::Extents of_c{p.m, p.n, p.ldc};
  return {simt::input("A", p.a, {p.m, p.k, p.lda}), simt::input("B", p.b, {p.k, p.n, p.ldb}),
          p.beta == 0.0F ? simt::output("C", p.c, of_c) : simt::in_out("C", p.c, of_c)};
}

}  // namespace sgemm
