#pragma once

#include <cstddef>
#include <vector>

namespace sgemm {

struct Interval {
  double low = 0.0;
  double high = 0.0;
};

/// The middle value, or the mean of the middle two. `values` is not empty.
double median(std::vector<double> values);

/// The probability with which the widest interval of `samples` samples, from the smallest to the largest, covers the
/// median of their distribution: all of them lie on one side of it once in 2^(samples - 1). It is 0.75 for 3 samples.
double most_coverage(std::size_t samples);

/// The statistics of one set of times in a results file.
struct Summary {
  double median = 0.0;
  Interval ci;  ///< of the median
  double min = 0.0;
  double max = 0.0;
  double mean = 0.0;
  double stddev = 0.0;  ///< of a sample (n - 1); 0 for a single value

  /// Half the width of the interval over the median.
  double spread() const { return (ci.high - ci.low) / 2.0 / median; }
};

/// The interval is one for the median of the distribution that `values` were drawn from, between two of the sorted
/// values. It assumes nothing about the distribution: the count of samples below its median is binomial(n, 1/2). The
/// coverage is at least `confidence` if there are enough samples (6 for 95 %). With fewer samples the interval spans
/// all of them. `values` is not empty.
Summary summarize(const std::vector<double>& values, double confidence);

}  // namespace sgemm
