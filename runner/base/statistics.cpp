#include "base/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sgemm {
namespace {

double median_of_sorted(const std::vector<double>& values) {
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2.0;
}

/// How many of the smallest and of the largest of n sorted values lie outside the interval: the largest r with
/// P(binomial(n, 1/2) <= r - 1) <= (1 - confidence) / 2 for each of the two tails, so that the interval from the r-th
/// smallest (counted from 1) to the r-th largest covers the median often enough. The rank is 1 if no rank does.
std::size_t outer_rank(std::size_t n, double confidence) {
  const double tail = (1.0 - confidence) / 2.0;
  const double count = static_cast<double>(n);
  double below = 0.0;
  std::size_t rank = 0;
  while (rank < n / 2) {
    const double k = static_cast<double>(rank);
    // Logarithms are used because 2^-n itself underflows for n above 1074.
    below += std::exp(std::lgamma(count + 1.0) - std::lgamma(k + 1.0) - std::lgamma(count - k + 1.0) -
                      count * std::log(2.0));
    if (below > tail) {
      break;
    }
    ++rank;
  }
  return std::max<std::size_t>(rank, 1);
}

}  // namespace

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return median_of_sorted(values);
}

double most_coverage(std::size_t samples) { return 1.0 - std::exp2(1.0 - static_cast<double>(samples)); }

Summary summarize(const std::vector<double>& values, double confidence) {
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  const std::size_t rank = outer_rank(sorted.size(), confidence);
  const double count = static_cast<double>(sorted.size());
  const double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / count;
  double squares = 0.0;
  for (const double value : sorted) {
    squares += (value - mean) * (value - mean);
  }
  return {median_of_sorted(sorted),
          {sorted[rank - 1], sorted[sorted.size() - rank]},
          sorted.front(),
          sorted.back(),
          mean,
          sorted.size() > 1 ? std::sqrt(squares / (count - 1.0)) : 0.0};
}

}  // namespace sgemm
