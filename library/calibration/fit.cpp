#include "calibration/fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace sgemm {
namespace {

constexpr std::size_t FEWEST_TIMES = 8;
constexpr std::size_t TERMS = 5;
constexpr double MOST_THROTTLED = 2.5;
constexpr double SMALLEST_FACTOR = 1e-6;  // of a term that is about 1, so that no rate is infinite
using Terms = std::array<double, TERMS>;

/// What the constants of a method are multiplied with. The fourth one is what throttled cycles take longer than others.
Terms terms_of(const Cost& cost, double full_clock_cycles) {
  const double at_full_clock = std::min(cost.cycles, full_clock_cycles);
  return {cost.launches, cost.bytes, cost.cycles, cost.cycles - at_full_clock, cost.single};
}

double dot(const Terms& x, const Terms& y) {
  double sum = 0.0;
  for (std::size_t i = 0; i < TERMS; ++i) {
    sum += x[i] * y[i];
  }
  return sum;
}

/// One sweep towards the least weighted squares of relative errors. Throttled cycles take at most MOST_THROTTLED times
/// as long as others, and nothing but a launch takes less than no time.
void improve(Terms& factors, const Terms& largest, const std::vector<Terms>& rows, const std::vector<double>& targets,
             const std::vector<double>& weights) {
  for (std::size_t i = 0; i < TERMS; ++i) {
    double along = 0.0;
    double square = 0.0;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      along += weights[row] * rows[row][i] * (targets[row] - dot(factors, rows[row]));
      square += weights[row] * rows[row][i] * rows[row][i];
    }
    if (square > 0.0) {
      factors[i] = std::max(factors[i] + along / square, i == 0 ? -20 * largest[0] : SMALLEST_FACTOR);
    }
  }
  factors[3] = std::min(factors[3], (MOST_THROTTLED - 1) * factors[2] * largest[3] / largest[2]);
}

}  // namespace

MethodRates fit_method(const std::vector<TimedCost>& times, double full_clock_cycles) {
  if (times.size() < FEWEST_TIMES) {
    return {};
  }
  std::vector<Terms> rows;  // divided by the times, so that errors are relative
  std::vector<double> targets;
  Terms largest{};
  for (const TimedCost& time : times) {
    rows.push_back(terms_of(time.cost, full_clock_cycles));
    for (std::size_t i = 0; i < TERMS; ++i) {
      rows.back()[i] /= time.us;
      largest[i] = std::max(largest[i], rows.back()[i]);
    }
    targets.push_back(1.0 - time.cost.other / time.us);
  }
  if (!(largest[2] > 0.0)) {
    return {};
  }
  for (Terms& row : rows) {  // in units in which all terms are about 1
    for (std::size_t i = 0; i < TERMS; ++i) {
      row[i] /= largest[i] > 0.0 ? largest[i] : 1.0;
    }
  }
  Terms factors{0.1, 0.1, 0.5, 0.0, 0.1};
  std::vector<double> weights(rows.size(), 1.0);
  constexpr int ROUNDS = 30;
  constexpr int SWEEPS = 200;
  constexpr double SMALL_ERROR = 0.01;
  for (int round = 0; round < ROUNDS; ++round) {
    for (int sweep = 0; sweep < SWEEPS; ++sweep) {
      improve(factors, largest, rows, targets, weights);
    }
    for (std::size_t row = 0; row < rows.size(); ++row) {  // towards the least sum of errors, which outliers bend less
      weights[row] = 1.0 / std::max(std::fabs(targets[row] - dot(factors, rows[row])), SMALL_ERROR);
    }
  }
  // A rate for which nothing was measured is an H200's.
  const MethodRates any = BoardModel()[Method::every_shape];
  const auto rate = [&](std::size_t i, double otherwise) {
    return largest[i] > 0.0 ? largest[i] / factors[i] : otherwise;
  };
  const double extra = largest[3] > 0.0 ? factors[3] / largest[3] : 0.0;
  return {factors[0] / largest[0], rate(2, any.clock), 1.0 / (factors[2] / largest[2] + extra), rate(1, any.bytes),
          rate(4, any.single)};
}

CublasRates fit_cublas(const std::vector<TimedProduct>& times) {
  CublasRates best{1e9, 0.0, 0.0};
  for (const TimedProduct& time : times) {
    const PredictedShape& p = time.shape;
    const auto m = static_cast<double>(p.m);
    const auto n = static_cast<double>(p.n);
    const auto k = static_cast<double>(p.k);
    best.call = std::min(best.call, time.us);
    best.flops = std::max(best.flops, 2 * m * n * k / time.us / p.multiprocessors);
    best.bytes = std::max(best.bytes, 4 * (m * k + k * n + m * n) / time.us);
  }
  // An error in which cuBLAS is faster than predicted counts so many times as much as one in which it is slower.
  constexpr double FASTER = 9.0;
  const auto loss = [&](const CublasRates& rates) {
    double sum = 0.0;
    for (const TimedProduct& time : times) {
      const double slower = std::log(time.us / cublas_microseconds(rates, time.shape, 1));
      sum += slower > 0.0 ? slower : -FASTER * slower;
    }
    return sum;
  };
  double least = loss(best);
  for (double step = 0.25; step > 0.002;) {
    bool better = false;
    for (double CublasRates::*const rate : {&CublasRates::call, &CublasRates::flops, &CublasRates::bytes}) {
      for (const double factor : {1.0 + step, 1.0 / (1.0 + step)}) {
        CublasRates other = best;
        other.*rate *= factor;
        if (const double of_other = loss(other); of_other < least) {
          best = other;
          least = of_other;
          better = true;
        }
      }
    }
    step *= better ? 1.0 : 0.5;
  }
  return best;
}

}  // namespace sgemm
