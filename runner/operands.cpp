#include "operands.hpp"

#include "counter_random.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <thread>

namespace sgemm {
namespace {

/// 2^-24: the step of the random fractions, which then fit a float exactly.
constexpr float STEP = 0x1p-24F;

/// An odd multiple of 2^-24 in (-1, 1): symmetric about 0, which it never takes.
float uniform(const CounterRandom& random, std::uint64_t index) {
  const auto fraction = static_cast<std::int32_t>(random(index) >> 40U);  // 24 bits
  return static_cast<float>(2 * fraction + 1 - (std::int32_t{1} << 24U)) * STEP;
}

/// Box-Muller: two uniform numbers make two normal ones, the elements of even and odd index of a pair.
float normal(const CounterRandom& random, std::uint64_t index) {
  const std::uint64_t first_of_pair = index & ~std::uint64_t{1};
  const float radius_fraction = (static_cast<float>(random(first_of_pair) >> 40U) + 0.5F) * STEP;  // never 0
  const float turn = static_cast<float>(random(first_of_pair + 1) >> 40U) * STEP;
  const float radius = std::sqrt(-2.0F * std::log(radius_fraction));
  const float angle = 2.0F * std::numbers::pi_v<float> * turn;
  return radius * (index % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

template <class Element>
void fill(std::vector<float>& matrix, const Element& element) {
  constexpr std::size_t SMALLEST_SHARE = std::size_t{1} << 16U;  // below it, starting a thread costs more
  const std::size_t threads =
      std::clamp<std::size_t>(matrix.size() / SMALLEST_SHARE, 1, std::max(1U, std::thread::hardware_concurrency()));
  const auto fill_share = [&](std::size_t thread) {
    const std::size_t share = matrix.size() / threads;
    const std::size_t end = thread + 1 == threads ? matrix.size() : (thread + 1) * share;
    for (std::size_t i = thread * share; i < end; ++i) {
      matrix[i] = element(i);
    }
  };
  std::vector<std::jthread> helpers;
  for (std::size_t thread = 1; thread < threads; ++thread) {
    helpers.emplace_back(fill_share, thread);
  }
  fill_share(0);
}

std::vector<float> make_matrix(std::int64_t rows, std::int64_t columns, Distribution distribution,
                               const CounterRandom& random) {
  std::vector<float> matrix(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  switch (distribution) {
    case Distribution::uniform:
      fill(matrix, [&](std::uint64_t index) { return uniform(random, index); });
      break;
    case Distribution::normal:
      fill(matrix, [&](std::uint64_t index) { return normal(random, index); });
      break;
    case Distribution::zeros:
      break;
  }
  return matrix;
}

}  // namespace

std::string_view to_string(Distribution distribution) {
  switch (distribution) {
    case Distribution::uniform:
      return "uniform";
    case Distribution::normal:
      return "normal";
    case Distribution::zeros:
      return "zeros";
  }
  return "unknown";
}

Problem shape_of(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, float beta) {
  Problem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.alpha = alpha;
  problem.beta = beta;
  problem.lda = k;
  problem.ldb = n;
  problem.ldc = n;
  return problem;
}

HostOperands make_operands(const Problem& problem, Distribution distribution, std::uint64_t seed) {
  HostOperands operands;
  operands.a = make_matrix(problem.m, problem.k, distribution, CounterRandom(seed, RandomStream::matrix_a));
  operands.b = make_matrix(problem.k, problem.n, distribution, CounterRandom(seed, RandomStream::matrix_b));
  if (problem.beta != 0.0F) {
    operands.c0 = make_matrix(problem.m, problem.n, distribution, CounterRandom(seed, RandomStream::matrix_c));
  }
  return operands;
}

}  // namespace sgemm
