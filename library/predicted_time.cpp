#include "predicted_time.hpp"

#include "board.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace sgemm {
namespace {

// Of an H200. What its clock and its memory decide is scaled for other boards.
constexpr double FULL_CLOCK = 1980;                   // cycles a microsecond
constexpr double FULL_CLOCK_TIME = 40;                // microseconds for which tensor cores keep that clock
constexpr double CUBLAS_CALL = 6.5;                   // microseconds besides the product
constexpr double CUBLAS_FLOPS = 55.2e6 / 132 / 1980;  // a cycle, of a multiprocessor
constexpr double CUBLAS_EXTRA_DEPTH = 20;             // storing a tile of C takes as long as so many elements along k
constexpr double CUBLAS_BYTES = 4.5e6;                // a microsecond
constexpr double CUBLAS_DIVIDED_CALL = 2;             // microseconds to add up the parts of a divided k
constexpr double CUBLAS_SHORTEST_PART = 128;          // elements along k of a part, where k is divided
constexpr int CUBLAS_MOST_PARTS = 32;
// Where C has few rows or columns, and sums are long, cuBLAS reaches less than its tiles promise: this part of their
// rates. Up to 32 columns take as long as 32, unless they are so few that it has other kernels for them.
constexpr double CUBLAS_NARROW = 64;
constexpr double CUBLAS_NARROW_RATE = 0.91;
constexpr double CUBLAS_VERY_NARROW = 32;
constexpr double CUBLAS_VERY_NARROW_RATE = 0.72;
constexpr double CUBLAS_NARROWEST = 8;
constexpr double CUBLAS_NARROW_DEPTH = 512;  // from here on sums are long
// How much longer than TN the other layouts take, where chapter 09 is about as fast.
constexpr double CUBLAS_NN = 1.05;
constexpr double CUBLAS_NT = 1.05;
constexpr double CUBLAS_TT = 1.08;
constexpr double EVERY_SHAPE_CALL = -1;    // the constant of the chapter's own prediction is too large
constexpr double EVERY_SHAPE_FLAGS = 3.5;  // microseconds
constexpr double PASS = 0.07;              // microseconds of a pass over a tile of C, for each element along k
constexpr double FEWEST_PASSES = 2;        // of the slowest block: both tiles of a configuration have the same row
constexpr double SPLIT_CALL = 4;           // microseconds of a call besides its launches
constexpr double SPLIT_BYTES = 3.8e6;      // a microsecond, read and written

/// A tile of C that cuBLAS may give to a block, and the part of the full rate that a block reaches with it. The sizes
/// are the usual ones, and the rates were fitted.
struct CublasTile {
  double rows;
  double columns;
  double rate;
};
constexpr CublasTile CUBLAS_TILES[] = {{256, 128, 1.0}, {128, 256, 1.0}, {128, 128, 1.0}, {128, 64, 0.97},
                                       {64, 128, 0.97}, {64, 64, 0.9},   {128, 32, 0.85}, {32, 128, 0.85},
                                       {64, 32, 0.8},   {32, 64, 0.8},   {32, 32, 0.7}};

}  // namespace

double cublas_microseconds(const PredictedShape& shape, std::int64_t batch_count) {
  const BoardModel& board = board_model();
  const double flops_per_us = CUBLAS_FLOPS * board.clock;
  const double bytes_per_us = CUBLAS_BYTES * board.cublas_bytes;
  auto m = static_cast<double>(shape.m);
  auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  const auto count = static_cast<double>(batch_count);
  const double move = 4 * (m * k + k * n + m * n) * count / bytes_per_us;
  double narrow_rate = 1;
  if (const double width = std::min(m, n); width <= CUBLAS_NARROW && k >= CUBLAS_NARROW_DEPTH) {
    if (width > CUBLAS_VERY_NARROW) {
      narrow_rate = CUBLAS_NARROW_RATE;
    } else if (width >= CUBLAS_NARROWEST) {
      narrow_rate = CUBLAS_VERY_NARROW_RATE;
      m = std::max(m, CUBLAS_VERY_NARROW);
      n = std::max(n, CUBLAS_VERY_NARROW);
    }
  }
  double multiply = std::numeric_limits<double>::infinity();
  for (const CublasTile& tile : CUBLAS_TILES) {
    const double tiles = std::ceil(m / tile.rows) * std::ceil(n / tile.columns) * count;
    const double elements = std::min(m, tile.rows) * std::min(n, tile.columns);
    for (int parts = 1; parts <= CUBLAS_MOST_PARTS; ++parts) {
      if (parts > 1 && (tiles >= shape.multiprocessors || k / parts < CUBLAS_SHORTEST_PART)) {
        break;  // k is divided only where that keeps more multiprocessors busy
      }
      const double rounds = std::ceil(tiles * parts / shape.multiprocessors);
      const double add = parts == 1 ? 0.0 : CUBLAS_DIVIDED_CALL + 4 * m * n * count * parts / bytes_per_us;
      const double flops = 2 * elements * (k / parts + CUBLAS_EXTRA_DEPTH);
      multiply = std::min(multiply, rounds * flops / (flops_per_us * tile.rate * narrow_rate) + add);
    }
  }
  return CUBLAS_CALL + std::max(multiply, move);
}

double cublas_microseconds_in_layout(const PredictedShape& shape, std::int64_t batch_count, bool a_transposed,
                                     bool b_transposed) {
  const double factor = b_transposed ? (a_transposed ? CUBLAS_TT : CUBLAS_NT) : a_transposed ? 1.0 : CUBLAS_NN;
  return factor * cublas_microseconds(shape, batch_count);
}

double every_shape_microseconds(double cycles, std::int64_t batch_count, bool lowers_flags) {
  const double call = EVERY_SHAPE_CALL + (lowers_flags ? EVERY_SHAPE_FLAGS : 0.0);
  return static_cast<double>(batch_count) * (call + cycles / board_model().clock);
}

double split_microseconds(const SplitRates& rates, const PredictedShape& shape, std::int64_t batch_count,
                          std::int64_t launches, double cycles) {
  const BoardModel& board = board_model();
  const double elements =
      static_cast<double>(batch_count) * static_cast<double>(shape.m + shape.n) * static_cast<double>(shape.k);
  const double split = elements * rates.bytes / (SPLIT_BYTES * board.bytes);
  const double at_full_clock = cycles / board.clock;  // power limits the clock of a batch as a whole
  const double throttled = std::max(0.0, at_full_clock - (board.holds_full_clock ? FULL_CLOCK_TIME : 0.0));
  const double products =
      at_full_clock - throttled + throttled * FULL_CLOCK / (1000 * rates.throttled_ghz * board.throttled);
  return SPLIT_CALL + static_cast<double>(launches) * rates.launch + split + products;
}

double recomputed_microseconds(const PredictedShape& shape, double passes) {
  const double of_block = std::max(FEWEST_PASSES, passes / shape.multiprocessors);
  return passes > 0 ? of_block * PASS * static_cast<double>(shape.k) * FULL_CLOCK / board_model().clock : 0.0;
}

}  // namespace sgemm
