#include "reproducible/definition.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sgemm::reproducible {

void reference(const Problem& p) {
  const bool empty = p.alpha == 0.0F || p.k == 0;  // A and B are not read then
  const std::int64_t k = empty ? 0 : p.k;
  for (std::int64_t product = 0; product < p.batch; ++product) {
    const float* const a = p.a + product * p.lda * (p.transposed_a ? p.k : p.m);
    const float* const b = p.b + product * p.ldb * (p.transposed_b ? p.n : p.k);
    float* const c = p.c + product * p.ldc * p.m;
    std::vector<Line> columns;
    for (std::int64_t j = 0; j < p.n; ++j) {
      columns.emplace_back(p.transposed_b ? b + j * p.ldb : b + j, p.transposed_b ? 1 : p.ldb, k);
    }
    for (std::int64_t i = 0; i < p.m; ++i) {
      const Line row(p.transposed_a ? a + i : a + i * p.lda, p.transposed_a ? p.lda : 1, k);
      for (std::int64_t j = 0; j < p.n; ++j) {
        const Line& column = columns[static_cast<std::size_t>(j)];
        double value = 0.0;
        if (!row.scalable() || !column.scalable()) {
          value = static_cast<double>(p.alpha) * sum_in_order(row, column, k);
        } else if (!empty) {
          std::int64_t sum = 0;
          for (std::int64_t l = 0; l < k; ++l) {
            sum += products(row.digits(l), column.digits(l));
          }
          value = static_cast<double>(p.alpha) * unscaled(sum, row, column);
        }
        c[i * p.ldc + j] = updated(value, p.beta, c[i * p.ldc + j]);
      }
    }
  }
}

}  // namespace sgemm::reproducible
