#pragma once

// Predictions of the time on the current device, in microseconds, by which the library chooses among its algorithms and
// cuBLAS. They are those of an H200, scaled for other boards (board.hpp). The constants of cuBLAS and chapter 09 were
// fitted to results/nvidia-h200/shapes.json and shapes_tensor.json, those of chapters 11 and 12 to library_shapes.csv,
// and those of chapter 13 to a few squares. docs/lab/libsgemm.md and 13-int8x6.md compare.

#include <cstdint>

namespace sgemm {

/// The shape of a product, and how many multiprocessors may work on it.
struct PredictedShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  int multiprocessors = 0;
};

/// A time that cuBLAS SGEMM needs at least, for `batch_count` products in one call: the best division into tiles and
/// parts of k, each multiprocessor computing one tile after the other. It is not the expected time: at some sizes
/// cuBLAS takes a fifth more. "Never slower than cuBLAS" wants an estimate that errs on this side.
double cublas_microseconds(const PredictedShape& shape, std::int64_t batch_count);

/// The time that cuBLAS SGEMM takes at least where the time of chapter 09 is close to it. That prediction is within
/// some 2 %, so that this one may err less on the safe side. In all layouts but TN cuBLAS takes longer.
double cublas_microseconds_in_layout(const PredictedShape& shape, std::int64_t batch_count, bool a_transposed,
                                     bool b_transposed);

/// The time of chapter 09 for `batch_count` products, one after the other, of which its own prediction says `cycles`
/// for each. `lowers_flags`: they are set to 0 before.
double every_shape_microseconds(double cycles, std::int64_t batch_count, bool lowers_flags);

/// What differs between the predictions for chapters 11, 12 and 13.
struct SplitRates {
  double bytes;          ///< that are read and written for each number of A and B before the product
  double launch;         ///< microseconds of each launch besides the work of its kernels
  double throttled_ghz;  ///< the clock that power allows a long product
};
constexpr SplitRates BF16X6_RATES{4 + 6, 9, 1.76};
constexpr SplitRates FP16X3_RATES{4 + 4, 9, 1.60};
constexpr SplitRates INT8X6_RATES{4 + 3, 10, 1.87};
constexpr SplitRates INT8X6_RATES_WITH_MAXIMA{4 + 4 + 3, 18, 1.87};

/// The time of all kernels of chapter 11, 12 or 13 for `batch_count` products in so many launches. The prediction of
/// split_launch.cuh says that multiplying takes `cycles` in all.
double split_microseconds(const SplitRates& rates, const PredictedShape& shape, std::int64_t batch_count,
                          std::int64_t launches, double cycles);

/// The time that `passes` over tiles of C take in one call, which compute elements without tensor cores.
double recomputed_microseconds(const PredictedShape& shape, double passes);

}  // namespace sgemm
