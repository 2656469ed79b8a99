#pragma once

// The constants of a board from measured times.

#include "board.hpp"
#include "predicted_time.hpp"

#include <vector>

namespace sgemm {

struct TimedCost {
  Cost cost;
  double us;
};

/// The constants of a way for which its costs take about as long as was measured. Half of the times may be far off.
/// Unknown constants where there are too few.
WayRates fit_way(const std::vector<TimedCost>& times, double full_clock_cycles);

struct TimedProduct {
  PredictedShape shape;
  double us;
};

/// The constants of cuBLAS for which most products take at least as long as is predicted.
CublasRates fit_cublas(const std::vector<TimedProduct>& times);

}  // namespace sgemm
