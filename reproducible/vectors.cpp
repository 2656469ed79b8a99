// The definition's sums by multiply-adds of doubles, which are exact: a sum of 2^22 products stays below 2^53. With
// X = 2^16 a0 + 2^8 a1 + a2 and Y likewise, the six products of digits are a0 Y + a1 (2^8 b0 + b1) + a2 b0.

#include "reproducible/definition.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define SGEMM_FOR_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SGEMM_FOR_EACH_PROCESSOR
#endif

namespace sgemm::reproducible {
namespace {

constexpr int ROWS = 4;
constexpr int COLUMNS = 8;
constexpr int FACTORS = 3;
constexpr std::int64_t BLOCK = 64 * COLUMNS;  // columns whose factors are kept
constexpr std::int64_t MOST_K = std::int64_t{1} << 22;

using Sums = double[ROWS][COLUMNS];

/// A * B of ROWS lines by COLUMNS, of which all first numbers come before all second ones.
SGEMM_FOR_EACH_PROCESSOR
void multiply(std::int64_t count, const double* a, const double* b, Sums& sums) {
  double own[ROWS][COLUMNS] = {};  // in registers
  for (std::int64_t i = 0; i < count; ++i, a += ROWS, b += COLUMNS) {
#pragma GCC unroll 4
    for (int row = 0; row < ROWS; ++row) {
#pragma GCC unroll 8
      for (int column = 0; column < COLUMNS; ++column) {
        own[row][column] += a[row] * b[column];
      }
    }
  }
  std::copy_n(&own[0][0], ROWS * COLUMNS, &sums[0][0]);
}

/// Some neighbouring lines, fewer at an edge, and their factors: three for each k.
template <int LINES>
struct Group {
  std::vector<Line> lines;
  std::vector<double> factors;
};

using Factors = double (&)[FACTORS];

void factors_of_row(const Line::Digits& digits, Factors factors) { std::copy(digits.begin(), digits.end(), factors); }

void factors_of_column(const Line::Digits& digits, Factors factors) {
  factors[0] = digits[0] * 65536 + digits[1] * 256 + digits[2];
  factors[1] = digits[0] * 256 + digits[1];
  factors[2] = digits[0];
}

/// Lines `first` and following of `count`. Those without digits, and those beyond the last one, have factors of 0.
template <int LINES, class FactorsOf>
Group<LINES> group_of(const float* matrix, std::int64_t line_step, std::int64_t k_step, std::int64_t first,
                      std::int64_t count, std::int64_t k, const FactorsOf& factors_of) {
  Group<LINES> group;
  group.factors.resize(static_cast<std::size_t>(k * FACTORS * LINES));
  for (int i = 0; i < LINES && first + i < count; ++i) {
    const Line& line = group.lines.emplace_back(matrix + (first + i) * line_step, k_step, k);
    for (std::int64_t p = 0; p < k && line.scalable(); ++p) {
      double factors[FACTORS];
      factors_of(line.digits(p), factors);
      for (int factor = 0; factor < FACTORS; ++factor) {
        group.factors[static_cast<std::size_t>((p * FACTORS + factor) * LINES + i)] = factors[factor];
      }
    }
  }
  return group;
}

/// Elements of C from groups of rows and columns, the first at `c`.
void update(const Problem& p, std::int64_t k, const Group<ROWS>& rows, const Group<COLUMNS>& columns, float* c) {
  std::int64_t totals[ROWS][COLUMNS] = {};
  for (std::int64_t done = 0; done < k; done += MOST_K) {
    Sums sums;
    multiply(std::min(MOST_K, k - done) * FACTORS, rows.factors.data() + done * FACTORS * ROWS,
             columns.factors.data() + done * FACTORS * COLUMNS, sums);
    for (int i = 0; i < ROWS; ++i) {
      for (int j = 0; j < COLUMNS; ++j) {
        totals[i][j] += static_cast<std::int64_t>(sums[i][j]);
      }
    }
  }
  for (std::size_t i = 0; i < rows.lines.size(); ++i) {
    for (std::size_t j = 0; j < columns.lines.size(); ++j) {
      const Line& row = rows.lines[i];
      const Line& column = columns.lines[j];
      float& element = c[static_cast<std::int64_t>(i) * p.ldc + static_cast<std::int64_t>(j)];
      const double product =
          row.scalable() && column.scalable() ? unscaled(totals[i][j], row, column) : sum_in_order(row, column, k);
      element = updated(k == 0 ? 0.0 : static_cast<double>(p.alpha) * product, p.beta, element);
    }
  }
}

/// Calls `visit` with the numbers from 0 to `count` - 1, on all processors.
template <class Visit>
void for_each(std::int64_t count, const Visit& visit) {
  std::atomic<std::int64_t> next = 0;
  const auto work = [&] {
    for (std::int64_t i = next++; i < count; i = next++) {
      visit(i);
    }
  };
  std::vector<std::jthread> helpers;
  for (std::int64_t i = 1; i < std::min<std::int64_t>(std::thread::hardware_concurrency(), count); ++i) {
    helpers.emplace_back(work);
  }
  work();
}

}  // namespace

void product(const Problem& p) {
  const std::int64_t k = p.alpha == 0.0F ? 0 : p.k;
  for (std::int64_t each = 0; each < p.batch; ++each) {
    const float* const a = p.a + each * p.lda * (p.transposed_a ? p.k : p.m);
    const float* const b = p.b + each * p.ldb * (p.transposed_b ? p.n : p.k);
    float* const c = p.c + each * p.ldc * p.m;
    for (std::int64_t first = 0; first < p.n; first += BLOCK) {
      std::vector<Group<COLUMNS>> columns(
          static_cast<std::size_t>((std::min(BLOCK, p.n - first) + COLUMNS - 1) / COLUMNS));
      for_each(static_cast<std::int64_t>(columns.size()), [&](std::int64_t i) {
        columns[static_cast<std::size_t>(i)] = group_of<COLUMNS>(
            b, p.transposed_b ? p.ldb : 1, p.transposed_b ? 1 : p.ldb, first + i * COLUMNS, p.n, k, factors_of_column);
      });
      for_each((p.m + ROWS - 1) / ROWS, [&](std::int64_t i) {
        const Group<ROWS> rows =
            group_of<ROWS>(a, p.transposed_a ? 1 : p.lda, p.transposed_a ? p.lda : 1, i * ROWS, p.m, k, factors_of_row);
        float* at = c + i * ROWS * p.ldc + first;
        for (const Group<COLUMNS>& group : columns) {
          update(p, k, rows, group, at);
          at += COLUMNS;
        }
      });
    }
  }
}

}  // namespace sgemm::reproducible
