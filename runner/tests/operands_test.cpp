#include "problem/operands.hpp"
#include "bench/operand_set.hpp"
#include "problem/guarded_operands.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace sgemm {
namespace {

Shape shape(std::int64_t m, std::int64_t n, std::int64_t k, float beta) { return {m, n, k, 1.0F, beta}; }

double mean(const std::vector<float>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double variance(const std::vector<float>& values) {
  const double squares = std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
  return squares / static_cast<double>(values.size()) - mean(values) * mean(values);
}

/// Bit for bit, NaN included. memcmp takes no null pointer, which an empty vector may have.
bool same(const std::vector<float>& x, const std::vector<float>& y) {
  return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0);
}
bool same(const HostOperands& x, const HostOperands& y) { return same(x.a, y.a) && same(x.b, y.b) && same(x.c0, y.c0); }

TEST(OperandsTest, AreNotMadeWhereTheyAreNotRead) {
  EXPECT_TRUE(make_operands(shape(3, 5, 7, 0.0F), Distribution::uniform, 1).c0.empty());
  EXPECT_TRUE(make_operands(shape(3, 5, 0, 0.0F), Distribution::uniform, 1).a.empty());
}

TEST(OperandsTest, TransposedOnesHaveTheSameValues) {
  constexpr std::size_t M = 70;
  constexpr std::size_t N = 50;
  constexpr std::size_t K = 90;
  Shape transposed = shape(M, N, K, 1.0F);
  transposed.transposed_a = true;
  transposed.transposed_b = true;
  for (const Distribution data : {Distribution::normal, Distribution::nan}) {
    const HostOperands plain = make_operands(shape(M, N, K, 1.0F), data, 1);
    const HostOperands found = make_operands(transposed, data, 1);
    HostOperands expected = plain;
    for (std::size_t k = 0; k < K; ++k) {
      for (std::size_t i = 0; i < M; ++i) {
        expected.a[k * M + i] = plain.a[i * K + k];
      }
      for (std::size_t j = 0; j < N; ++j) {
        expected.b[j * K + k] = plain.b[k * N + j];
      }
    }
    EXPECT_TRUE(same(found, expected));
  }
}

TEST(OperandsTest, ProductsOfABatchHaveSuccessiveSeeds) {
  Shape batch = shape(7, 5, 9, 1.0F);
  batch.transposed_b = true;
  Shape one = batch;
  batch.batch = 3;
  HostOperands expected;
  for (const std::uint64_t seed : {4U, 5U, 6U}) {
    const HostOperands product = make_operands(one, Distribution::uniform, seed);
    expected.a.insert(expected.a.end(), product.a.begin(), product.a.end());
    expected.b.insert(expected.b.end(), product.b.begin(), product.b.end());
    expected.c0.insert(expected.c0.end(), product.c0.begin(), product.c0.end());
  }
  EXPECT_TRUE(same(make_operands(batch, Distribution::uniform, 4), expected));
}

TEST(OperandsTest, HaveTheRangeAndMomentsOfTheirDistribution) {
  struct Row {
    Distribution distribution;
    float least, most, mean, variance, tolerance;
  };
  for (const Row& row : {Row{Distribution::uniform, -1.0F, 1.0F, 0.0F, 1.0F / 3.0F, 0.003F},
                         Row{Distribution::uniform01, 0.0F, 1.0F, 0.5F, 1.0F / 12.0F, 0.001F},
                         Row{Distribution::integers, -8.5F, 8.5F, 0.0F, 24.0F, 0.1F},
                         Row{Distribution::normal, -9.0F, 9.0F, 0.0F, 1.0F, 0.007F}}) {
    SCOPED_TRACE(to_string(row.distribution));
    const std::vector<float> values = make_operands(shape(1000, 1, 1000, 0.0F), row.distribution, 1).a;
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    EXPECT_GT(*least, row.least);
    EXPECT_LT(*most, row.most);
    const bool whole = std::ranges::all_of(values, [](float x) { return x == std::round(x); });
    EXPECT_EQ(whole, row.distribution == Distribution::integers);
    EXPECT_EQ(std::ranges::count(values, 0.0F) > 0, whole);
    EXPECT_NEAR(mean(values), row.mean, row.tolerance);
    EXPECT_NEAR(variance(values), row.variance, row.tolerance);
  }
}

TEST(OperandsTest, NormalHasTheTailsOfTheNormalDistributionAndNeighboursAreIndependent) {
  const std::vector<float> values = make_operands(shape(1000, 1, 1000, 0.0F), Distribution::normal, 1).a;
  const auto beyond_two = std::ranges::count_if(values, [](float x) { return std::fabs(x) > 2.0F; });
  EXPECT_NEAR(static_cast<double>(beyond_two) / 1e6, 0.0455, 0.001);
  double neighbours = 0.0;
  for (std::size_t i = 0; i + 1 < values.size(); i += 2) {
    neighbours += static_cast<double>(values[i]) * values[i + 1];
  }
  EXPECT_NEAR(neighbours / 5e5, 0.0, 0.007);
}

// A small matrix is filled by one thread and a large one by all, yet elements of the same index are the same.
TEST(OperandsTest, AreTheSameForAnyNumberOfThreads) {
  for (const Distribution distribution : DISTRIBUTIONS) {
    SCOPED_TRACE(to_string(distribution));
    const HostOperands one_row = make_operands(shape(1, 1, 60001, 0.0F), distribution, 7);
    const HostOperands rows = make_operands(shape(50, 1, 60001, 0.0F), distribution, 7);
    EXPECT_TRUE(same(one_row.a, {rows.a.begin(), rows.a.begin() + 60001}));
    // The last share is not filled by the first thread; one more row moves all boundaries.
    const std::vector<float> more = make_operands(shape(51, 1, 60001, 0.0F), distribution, 7).a;
    EXPECT_TRUE(same(rows.a, {more.begin(), more.begin() + 50 * 60001}));
    EXPECT_TRUE(same(one_row.b, rows.b));
  }
}

/// The elements of a window of a matrix with so many columns.
std::vector<float> cut(const std::vector<float>& matrix, std::int64_t columns, const Window& window) {
  std::vector<float> part;
  for (std::int64_t row = window.row; row < window.row + window.rows; ++row) {
    const auto first = matrix.begin() + row * columns + window.column;
    part.insert(part.end(), first, first + window.columns);
  }
  return part;
}

TEST(OperandsTest, APartHasTheElementsOfTheWhole) {
  const Shape problem = shape(67, 53, 71, 1.0F);
  for (const Distribution distribution : DISTRIBUTIONS) {
    SCOPED_TRACE(to_string(distribution));
    const HostOperands whole = make_operands(problem, distribution, 7);
    for (const Window& window : {Window{0, 0, 53, 53}, Window{33, 20, 20, 33}, Window{52, 52, 1, 1},
                                 Window{31, 0, 3, 53}, Window{5, 5, 0, 9}, Window{5, 5, 9, 0}}) {
      EXPECT_TRUE(same(make_part(problem, MatrixName::a, window, distribution, 7), cut(whole.a, problem.k, window)));
      EXPECT_TRUE(same(make_part(problem, MatrixName::b, window, distribution, 7), cut(whole.b, problem.n, window)));
      EXPECT_TRUE(same(make_part(problem, MatrixName::c, window, distribution, 7), cut(whole.c0, problem.n, window)));
    }
  }
}

// The window is filled by several threads, whose shares begin inside rows.
TEST(OperandsTest, ALargePartHasTheElementsOfTheWhole) {
  const Shape problem = shape(700, 1, 1009, 0.0F);
  const Window window{99, 13, 600, 990};
  const std::vector<float> whole = make_operands(problem, Distribution::cancelling, 7).a;
  EXPECT_TRUE(
      same(make_part(problem, MatrixName::a, window, Distribution::cancelling, 7), cut(whole, problem.k, window)));
}

TEST(OperandsTest, LognormalIsTheExponentialOfNormal) {
  const Shape problem = shape(300, 1, 300, 0.0F);
  const std::vector<float> normal = make_operands(problem, Distribution::normal, 1).a;
  for (const auto& [distribution, sigma] :
       {std::pair(Distribution::lognormal1, 1.0), {Distribution::lognormal4, 4.0}}) {
    const std::vector<float> values = make_operands(problem, distribution, 1).a;
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(std::log(static_cast<double>(values[i])), sigma * normal[i], 1e-5);
    }
  }
}

// A power of two changes no product's digits, and leaves the products as they are.
TEST(OperandsTest, DenormalsAndHugeAreUniformInOtherUnits) {
  const Shape problem = shape(300, 200, 300, 1.0F);
  const HostOperands uniform = make_operands(problem, Distribution::uniform, 1);
  const auto scaled = [](std::vector<float> values, int exponent) {
    std::transform(values.begin(), values.end(), values.begin(), [&](float x) { return std::ldexp(x, exponent); });
    return values;
  };
  const HostOperands denormals = make_operands(problem, Distribution::denormals, 1);
  EXPECT_EQ(scaled(denormals.a, 125), uniform.a);
  EXPECT_EQ(denormals.b, scaled(uniform.b, 125));
  EXPECT_EQ(denormals.c0, uniform.c0);
  const auto count = std::ranges::count_if(denormals.a, [](float x) { return std::fpclassify(x) == FP_SUBNORMAL; });
  EXPECT_NEAR(static_cast<double>(count) / 9e4, 0.5, 0.01);
  EXPECT_TRUE(std::ranges::all_of(denormals.b, [](float x) { return std::isnormal(x); }));

  const HostOperands huge = make_operands(problem, Distribution::huge, 1);
  EXPECT_EQ(huge.a, scaled(uniform.a, 127));
  EXPECT_EQ(huge.b, scaled(uniform.b, -100));
  EXPECT_EQ(huge.c0, scaled(uniform.c0, 27));
  EXPECT_GT(*std::ranges::max_element(huge.a), 0.49F * std::numeric_limits<float>::max());
  EXPECT_TRUE(std::ranges::all_of(huge.b, [](float x) { return std::isnormal(x); }));
}

TEST(OperandsTest, CancellingSumsAreTenBitsSmallerThanTheirHalves) {
  for (const std::int64_t depth : {256, 257, 4096}) {
    SCOPED_TRACE(depth);
    constexpr std::int64_t SIDE = 20;
    const HostOperands operands = make_operands(shape(SIDE, SIDE, depth, 0.0F), Distribution::cancelling, 1);
    double terms = 0.0;
    double sums = 0.0;
    for (std::int64_t i = 0; i < SIDE; ++i) {
      for (std::int64_t j = 0; j < SIDE; ++j) {
        double magnitude = 0.0;
        double sum = 0.0;
        for (std::int64_t k = 0; k < depth; ++k) {
          const double term = static_cast<double>(operands.a[static_cast<std::size_t>(i * depth + k)]) *
                              operands.b[static_cast<std::size_t>(k * SIDE + j)];
          magnitude += std::fabs(term);
          sum += term;
        }
        terms += magnitude * magnitude;
        sums += sum * sum;
      }
    }
    // 2h terms of 1/4 on average, and h remainders of 2^-10 / 3 with random signs.
    const double expected = 1.5 * std::sqrt(static_cast<double>(depth / 2)) * 1024.0;
    EXPECT_NEAR(std::sqrt(terms / sums) / expected, 1.0, 0.15);
  }
}

TEST(OperandsTest, SomeRowsHoldAFewValuesThatAreNotFinite) {
  constexpr std::int64_t DEPTH = 50;
  const Shape problem = shape(200, 30, DEPTH, 1.0F);
  const HostOperands uniform = make_operands(problem, Distribution::uniform, 1);
  const HostOperands inf = make_operands(problem, Distribution::inf, 1);
  const HostOperands nan = make_operands(problem, Distribution::nan, 1);
  int negative = 0;
  for (std::int64_t row = 0; row < problem.m; ++row) {
    int special = 0;
    for (std::int64_t k = 0; k < DEPTH; ++k) {
      const auto at = static_cast<std::size_t>(row * DEPTH + k);
      EXPECT_EQ(std::isinf(inf.a[at]), std::isnan(nan.a[at]));
      special += std::isinf(inf.a[at]) ? 1 : 0;
      negative += inf.a[at] == -std::numeric_limits<float>::infinity() ? 1 : 0;
      EXPECT_TRUE(std::isinf(inf.a[at]) || inf.a[at] == uniform.a[at]);
    }
    EXPECT_LE(special, row % 32 == 0 ? 2 : row % 16 == 0 ? 1 : 0) << row;
    EXPECT_GE(special, row % 16 == 0 ? 1 : 0) << row;
  }
  EXPECT_GT(negative, 0);
  EXPECT_LT(negative, 19);
  EXPECT_EQ(inf.b, uniform.b);
  EXPECT_EQ(nan.c0, uniform.c0);
}

constexpr std::int64_t ROWS = 96;
constexpr std::int64_t DEPTH = 80;

HostOperands decoy(Distribution distribution, std::uint64_t seed = 7) {
  return make_operands(shape(ROWS, 64, DEPTH, 1.0F), distribution, seed);
}

TEST(OperandsTest, DecoysHaveAUniformBBesideTheirA) {
  const HostOperands uniform = decoy(Distribution::uniform);
  for (const Distribution distribution : {Distribution::sparse, Distribution::rank_one, Distribution::huge_row}) {
    const HostOperands operands = decoy(distribution);
    EXPECT_EQ(operands.b, uniform.b) << to_string(distribution);
    EXPECT_EQ(operands.c0, uniform.c0) << to_string(distribution);
    EXPECT_NE(operands.a, uniform.a) << to_string(distribution);
  }
}

/// The columns of B as rows, of B with as many columns as A has rows.
std::vector<float> columns_of_b(Distribution distribution) {
  const HostOperands operands = make_operands(shape(64, ROWS, DEPTH, 1.0F), distribution, 7);
  EXPECT_EQ(operands.a, make_operands(shape(64, ROWS, DEPTH, 1.0F), Distribution::uniform, 7).a);
  std::vector<float> columns(operands.b.size());
  for (std::int64_t i = 0; i < ROWS * DEPTH; ++i) {
    columns[static_cast<std::size_t>(i)] = operands.b[static_cast<std::size_t>(i % DEPTH * ROWS + i / DEPTH)];
  }
  return columns;
}

TEST(OperandsTest, SparseHasOneElementIn512) {
  const HostOperands operands = decoy(Distribution::sparse);
  const HostOperands uniform = decoy(Distribution::uniform);
  EXPECT_EQ(std::ranges::count(columns_of_b(Distribution::sparse_b), 0.0F), ROWS * DEPTH - ROWS * DEPTH / 512);
  for (std::size_t first = 0; first < operands.a.size(); first += 512) {
    int found = 0;
    for (std::size_t i = first; i < std::min(first + 512, operands.a.size()); ++i) {
      found += operands.a[i] != 0.0F ? 1 : 0;
      EXPECT_TRUE(operands.a[i] == 0.0F || operands.a[i] == uniform.a[i]);
    }
    EXPECT_EQ(found, 1) << first;
  }
  EXPECT_NE(operands.a, decoy(Distribution::sparse, 8).a);
}

void expect_multiples_but_for_some(const std::vector<float>& rows, const std::vector<float>& uniform) {
  const auto row = [&](std::int64_t i) { return &rows[static_cast<std::size_t>(i * DEPTH)]; };
  const auto factor_of = [&](std::int64_t i, std::int64_t j) {  // 0 where the rows are no multiples
    const float factor = row(i)[0] / row(j)[0];
    for (std::int64_t k = 1; k < DEPTH; ++k) {
      if (row(i)[k] != factor * row(j)[k]) {
        return 0.0F;
      }
    }
    return factor;
  };
  std::set<float> factors;
  std::vector<int> others;
  for (std::int64_t i = 0; i < ROWS; ++i) {
    std::int64_t alike = 0;
    for (std::int64_t j = 0; j < ROWS; ++j) {
      const float factor = factor_of(i, j);
      alike += factor != 0.0F ? 1 : 0;
      factors.insert(factor);
    }
    if (alike == 1) {
      others.push_back(static_cast<int>(i / 32));
    } else {
      EXPECT_EQ(alike, ROWS - ROWS / 32);
    }
  }
  EXPECT_EQ(others, (std::vector<int>{0, 1, 2})) << "one of each 32 rows";
  EXPECT_EQ(factors, (std::set<float>{0.0F, 0.125F, 0.25F, 0.5F, 1.0F, 2.0F, 4.0F, 8.0F}));
  EXPECT_NE(rows, uniform);
}

TEST(OperandsTest, LinesOfRankOneAreMultiplesButForSome) {
  expect_multiples_but_for_some(decoy(Distribution::rank_one).a, decoy(Distribution::uniform).a);
  expect_multiples_but_for_some(columns_of_b(Distribution::rank_one_b), columns_of_b(Distribution::uniform));
}

TEST(OperandsTest, OutliersAndHugeRowsAreUniformElsewhere) {
  const HostOperands uniform = decoy(Distribution::uniform);
  const HostOperands outliers = decoy(Distribution::outliers);
  const HostOperands huge = decoy(Distribution::huge_row);
  std::vector<int> rows(ROWS, 0);  // of A: how many elements differ
  for (std::size_t i = 0; i < huge.a.size(); ++i) {
    EXPECT_TRUE(huge.a[i] == uniform.a[i] || huge.a[i] == uniform.a[i] * 0x1p40F);
    rows[i / DEPTH] += huge.a[i] != uniform.a[i] ? 1 : 0;
  }
  EXPECT_EQ(std::ranges::count(rows, DEPTH), ROWS / 32);
  const std::vector<float> of_b = columns_of_b(Distribution::huge_column);
  EXPECT_EQ(std::ranges::count_if(of_b, [](float x) { return std::fabs(x) > 1.0F; }), ROWS / 32 * DEPTH);
  EXPECT_EQ(std::ranges::count(rows, 0), ROWS - ROWS / 32);
  const auto k_of_outliers = [](const std::vector<float>& made, const std::vector<float>& from, const auto& k_of) {
    std::vector<std::size_t> depths;
    for (std::size_t i = 0; i < made.size(); ++i) {
      EXPECT_TRUE(made[i] == from[i] || made[i] == from[i] * 1024.0F);
      if (made[i] != from[i]) {
        depths.push_back(k_of(i));
      }
    }
    EXPECT_NEAR(static_cast<double>(depths.size()), static_cast<double>(made.size()) / 512.0,
                static_cast<double>(made.size()) / 1024.0);
    return depths;
  };
  for (const std::size_t k : k_of_outliers(outliers.a, uniform.a, [](std::size_t i) { return i % DEPTH; })) {
    EXPECT_EQ(k % 2, 0U);
  }
  for (const std::size_t k : k_of_outliers(outliers.b, uniform.b, [](std::size_t i) { return i / 64; })) {
    EXPECT_EQ(k % 2, 1U);
  }
}

TEST(OperandsTest, AreTheSameOnEveryMachine) {
  const HostOperands operands = make_operands(shape(1, 1, 2, 1.0F), Distribution::uniform, 1);
  const HostOperands next = make_operands(shape(1, 1, 2, 1.0F), Distribution::uniform, 2);
  EXPECT_TRUE(next.a != operands.a && next.b != operands.b && next.c0 != operands.c0);
  EXPECT_TRUE(operands.c0[0] != operands.a[0] && operands.c0[0] != operands.b[0]);
  EXPECT_EQ(operands.a, (std::vector<float>{0x1.54566ep-1F, 0x1.3ad238p-3F}));
  EXPECT_EQ(operands.b, (std::vector<float>{0x1.9a39bep-1F, -0x1.c2449cp-2F}));
  EXPECT_EQ(make_operands(shape(1, 1, 4, 0.0F), Distribution::integers, 1).a,
            (std::vector<float>{-6.0F, 5.0F, -4.0F, 1.0F}));
}

TEST(OperandsTest, ChangedInputsAreNamedAndC0IsOne) {
  HostOperands operands = make_operands({3, 4, 5, 1.0F, 2.0F}, Distribution::uniform, 1);
  std::vector<MatrixName> asked;
  const auto change_in = [&](std::optional<MatrixName> changed) {
    asked.clear();
    return changed_input(operands, [&](MatrixName name, std::size_t elements) {
      asked.push_back(name);
      std::vector<float> found = name == MatrixName::a ? operands.a : name == MatrixName::b ? operands.b : operands.c0;
      EXPECT_EQ(found.size(), elements);
      found.back() = name == changed ? std::nextafter(found.back(), 2.0F) : found.back();
      return found;
    });
  };
  EXPECT_EQ(change_in({}), "");
  EXPECT_EQ(change_in(MatrixName::a), "writes to A, which is an input");
  EXPECT_EQ(change_in(MatrixName::b), "writes to B, which is an input");
  EXPECT_EQ(change_in(MatrixName::c), "writes to C0, which is an input");
  operands.c0.clear();
  EXPECT_EQ(change_in(MatrixName::c), "") << "beta is 0, and there is none";
  EXPECT_EQ(asked.size(), 2U);
}

// A launch line that asks for any bit of an address gets both answers.
TEST(OperandsTest, CopiesThatAreCheckedLieAtRandomPlaces) {
  HostOperands operands = make_operands({3, 4, 5, 1.0F, 2.0F}, Distribution::uniform, 1);
  const Problem original = packed({3, 4, 5}, operands.a.data(), operands.b.data(), operands.c0.data());
  std::uintptr_t ones = 0;
  std::uintptr_t zeros = 0;
  for (int copy = 0; copy < 64; ++copy) {
    const auto address = reinterpret_cast<std::uintptr_t>(GuardedOperands(original, false).problem().a);
    ones |= address;
    zeros |= ~address;
  }
  for (unsigned bit = 16; bit < 40; ++bit) {
    EXPECT_EQ((ones & zeros) >> bit & 1U, 1U) << bit;
  }
}

}  // namespace
}  // namespace sgemm
