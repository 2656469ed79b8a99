#include "predicted_time.hpp"

#include <algorithm>

namespace sgemm {
namespace {

constexpr double FULL_CLOCK = 1980;        // cycles a microsecond, of an H200
constexpr double FULL_CLOCK_TIME = 40;     // microseconds for which tensor cores keep that clock
constexpr double MULTIPROCESSORS = 132;    // of an H200
constexpr double CUBLAS_CALL = 7.5;        // microseconds besides the product
constexpr double CUBLAS_FLOPS = 52.5e6;    // a microsecond
constexpr double CUBLAS_EXTRA_DEPTH = 20;  // storing C takes as long as so many elements along k
constexpr double CUBLAS_BYTES = 4.5e6;     // a microsecond
constexpr double EVERY_SHAPE_CALL = -1;    // the constant of the chapter's own prediction is too large
constexpr double SPLIT_CALL = 4;           // microseconds besides the work of both kernels
constexpr double SPLIT_BYTES = 3.8e6;      // a microsecond, read and written

}  // namespace

double cublas_microseconds(const PredictedShape& shape, std::int64_t batch_count) {
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  const double part = std::min(1.0, shape.multiprocessors / MULTIPROCESSORS);
  const double multiply = 2 * m * n * (k + CUBLAS_EXTRA_DEPTH) / (CUBLAS_FLOPS * part);
  const double move = 4 * (m * k + k * n + m * n) / CUBLAS_BYTES;
  return CUBLAS_CALL + static_cast<double>(batch_count) * std::max(multiply, move);
}

double every_shape_microseconds(double cycles) { return EVERY_SHAPE_CALL + cycles / FULL_CLOCK; }

double split_microseconds(const SplitRates& rates, const PredictedShape& shape, double cycles) {
  const double elements = static_cast<double>(shape.m + shape.n) * static_cast<double>(shape.k);
  const double split = elements * (4 + 2 * rates.terms) / SPLIT_BYTES;
  const double at_full_clock = cycles / FULL_CLOCK;
  const double throttled = std::max(0.0, at_full_clock - FULL_CLOCK_TIME);
  const double product = at_full_clock - throttled + throttled * FULL_CLOCK / (1000 * rates.throttled_ghz);
  return SPLIT_CALL + split + product;
}

}  // namespace sgemm
