#include "predicted_time.hpp"

#include "board.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

namespace sgemm {
namespace {

constexpr double CUBLAS_EXTRA_DEPTH = 24;     // storing a tile of C takes as long as so many elements along k
constexpr double CUBLAS_DIVIDED_CALL = 3;     // microseconds to add up the parts of a divided k
constexpr double CUBLAS_SHORTEST_PART = 180;  // elements along k of a part, where k is divided
// A small tile, alone on its multiprocessor, reaches this part of its rate.
constexpr double CUBLAS_SMALL_TILE = 128 * 64;
constexpr double CUBLAS_ALONE_RATE = 0.8;
constexpr int CUBLAS_MOST_PARTS = 64;
// Where C has few rows or columns, and sums are long, cuBLAS reaches less than its tiles promise: this part of their
// rates. Up to 32 columns take as long as 32, unless they are so few that it has other kernels for them. From 33 to 64
// they take as long as 64.
constexpr double CUBLAS_NARROW = 64;
constexpr double CUBLAS_NARROW_RATE = 0.92;
constexpr double CUBLAS_VERY_NARROW = 32;
constexpr double CUBLAS_VERY_NARROW_RATE = 0.63;
constexpr double CUBLAS_NARROWEST = 8;
// A single row or column takes as long as memory takes to read the other operand, and two to seven so many times as
// long: rows in NN, NT, TN and TT, and columns. In NN it is more where rows are no longer than sums, and nothing where
// they are far longer.
constexpr double CUBLAS_FEW_ROWS[] = {1.2, 1.35, 1.3, 1.7};
constexpr double CUBLAS_FEW_COLUMNS = 1.6;
constexpr double CUBLAS_FEW_SHORT_ROWS = 1.75;
constexpr double CUBLAS_LONG_ROWS = 4;       // times k
constexpr double CUBLAS_NARROW_DEPTH = 512;  // from here on sums are long
constexpr double PASS = 0.07 * 1980;         // cycles of a pass over a tile of C, for each element along k
constexpr double FEWEST_PASSES = 2;          // of the slowest block: both tiles of a configuration have the same row
constexpr double SPLIT_BATCH = 4;            // microseconds of a batch besides its launches
constexpr double THIN_CALL = 9;              // microseconds of both launches besides their work
constexpr double THIN_AGAIN = 0.82;          // of the time for the long operand, to read it once more
constexpr double THIN_BLOCK = 12100;       // bytes that memory gives in the time of a block that looks for the largest
constexpr double EVERY_SHAPE_FLAGS = 4.5;  // microseconds to lower the flags of a launch of chapter 09
/// Of NN, NT, TN and TT: factors of the time of its multiplying or moving.
constexpr double CUBLAS_LAYOUTS[] = {1.009, 1.025, 0.995, 1.01};
/// How many times as long as it needs at least cuBLAS takes, by layout, wherever chapter 09 is about as fast.
constexpr double CUBLAS_BETWEEN_SHAPES[] = {1.025, 1.025, 1.01, 1.02};

/// A tile of C that cuBLAS may give to a block, and the part of the full rate that a block reaches with it. The sizes
/// are the usual ones, and the rates were fitted.
struct CublasTile {
  double rows;
  double columns;
  double rate;
};
constexpr CublasTile CUBLAS_TILES[] = {{256, 128, 1.0}, {128, 256, 1.0}, {128, 128, 0.98}, {128, 64, 0.91},
                                       {64, 128, 0.91}, {64, 64, 0.79},  {128, 32, 0.86},  {32, 128, 0.86},
                                       {64, 32, 0.74},  {32, 64, 0.74},  {32, 32, 0.62}};

/// A size among those of the table.
struct Place {
  int below;      ///< the exponent of the next smaller one
  double beyond;  ///< how far it is from there to the next larger one
};

Place place_of(std::int64_t size, int last) {
  const double exponent = std::clamp<double>(std::log2(static_cast<double>(size)), CublasTable::FIRST, last);
  const int below = std::min(static_cast<int>(exponent), last - 1);
  return {below, exponent - below};
}

/// How many times as long as it needs at least cuBLAS takes, between the sizes that were measured. Where a neighbour
/// was not, that one takes no longer.
double measured_over_least(const BoardModel& board, const PredictedShape& shape) {
  const CublasTable& table = board.cublas_table;
  if (table.us.empty() || table.multiprocessors != shape.multiprocessors) {
    return 1.0;
  }
  const int last = CublasTable::last_of(shape.layout);
  const std::array<Place, 3> places{place_of(shape.m, last), place_of(shape.n, last), place_of(shape.k, last)};
  double logarithm = 0.0;
  double least = std::numeric_limits<double>::infinity();
  for (unsigned corner = 0; corner < 8; ++corner) {
    double weight = 1.0;
    std::array<int, 3> at{};
    for (unsigned i = 0; i < 3; ++i) {
      const int upper = static_cast<int>(corner >> i & 1U);
      weight *= upper == 1 ? places[i].beyond : 1.0 - places[i].beyond;
      at[i] = places[i].below + upper;
    }
    if (weight > 0.0) {
      const auto size = [&](int exponent) { return std::int64_t{1} << exponent; };
      const PredictedShape neighbour{size(at[0]), size(at[1]), size(at[2]), shape.multiprocessors, shape.layout};
      const double us = table.at(shape.layout, at[0], at[1], at[2]);
      const double bound = cublas_microseconds(board.cublas, neighbour, CublasTable::count_of(shape.layout));
      const double factor = us > 0.0 ? us / bound : 1.0;
      logarithm += weight * std::log(factor);
      least = std::min(least, factor);
    }
  }
  return (std::exp(logarithm) + least) / 2;
}

/// How many times as long as memory needs cuBLAS takes at least for two to seven rows or columns and long sums. Its
/// kernels were measured beside an H200's memory, and a slower one hides a part of that. Tables of a board have wider
/// products alone, and tell more about cuBLAS than this.
double cublas_over_memory(const BoardModel& board, const PredictedShape& shape, std::int64_t batch_count) {
  const auto width = static_cast<double>(std::min(shape.m, shape.n));
  const auto k = static_cast<double>(shape.k);
  if (!board.cublas_table.us.empty() || batch_count > 1 || width <= 1 || width >= CUBLAS_NARROWEST ||
      k < CUBLAS_NARROW_DEPTH || (shape.layout == 0 && static_cast<double>(shape.n) > CUBLAS_LONG_ROWS * k)) {
    return 1.0;
  }
  const double over = shape.n < shape.m                                        ? CUBLAS_FEW_COLUMNS
                      : shape.layout == 0 && static_cast<double>(shape.n) <= k ? CUBLAS_FEW_SHORT_ROWS
                                                                               : CUBLAS_FEW_ROWS[shape.layout % 4];
  return std::max(1.0, over * std::min(1.0, board.cublas.bytes / CublasRates().bytes));
}

double cublas_at_least(const CublasRates& rates, const PredictedShape& shape, std::int64_t batch_count,
                       double over_memory) {
  auto m = static_cast<double>(shape.m);
  auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  const auto count = static_cast<double>(batch_count);
  const double move = over_memory * 4 * (m * k + k * n + m * n) * count / rates.bytes;
  double narrow_rate = 1;
  if (const double width = std::min(m, n); width <= CUBLAS_NARROW && k >= CUBLAS_NARROW_DEPTH) {
    const bool is_very_narrow = width <= CUBLAS_VERY_NARROW;
    if (width >= CUBLAS_NARROWEST) {
      narrow_rate = is_very_narrow ? CUBLAS_VERY_NARROW_RATE : CUBLAS_NARROW_RATE;
      m = std::max(m, is_very_narrow ? CUBLAS_VERY_NARROW : CUBLAS_NARROW);
      n = std::max(n, is_very_narrow ? CUBLAS_VERY_NARROW : CUBLAS_NARROW);
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
      const double add = parts == 1 ? 0.0 : CUBLAS_DIVIDED_CALL + 4 * m * n * count * parts / rates.bytes;
      const double flops = 2 * elements * (k / parts + CUBLAS_EXTRA_DEPTH);
      const bool is_alone = rounds == 1 && tile.rows * tile.columns <= CUBLAS_SMALL_TILE;
      const double rate = tile.rate * narrow_rate * (is_alone ? CUBLAS_ALONE_RATE : 1.0);
      multiply = std::min(multiply, rounds * flops / (rates.flops * rate) + add);
    }
  }
  return rates.call + CUBLAS_LAYOUTS[shape.layout % 4] * std::max(multiply, move);
}

}  // namespace

double cublas_microseconds(const CublasRates& rates, const PredictedShape& shape, std::int64_t batch_count) {
  return cublas_at_least(rates, shape, batch_count, 1.0);
}

double cublas_microseconds(const BoardModel& board, const PredictedShape& shape, std::int64_t batch_count) {
  return measured_over_least(board, shape) *
         cublas_at_least(board.cublas, shape, batch_count, cublas_over_memory(board, shape, batch_count));
}

double cublas_microseconds_beside_every_shape(const BoardModel& board, const PredictedShape& shape,
                                              std::int64_t batch_count) {
  const bool is_in_table = !board.cublas_table.us.empty();
  const bool was_measured = board.margin == 1.0;
  const double factor = was_measured && !is_in_table ? CUBLAS_BETWEEN_SHAPES[shape.layout % 4] : 1.0;
  return factor * cublas_microseconds(board, shape, batch_count);
}

Cost every_shape_cost(double cycles, bool lowers_flags) {
  return {Method::every_shape, 1, cycles, 0.0, lowers_flags ? EVERY_SHAPE_FLAGS : 0.0};
}

Cost split_cost(const Splitting& splitting, const PredictedShape& shape, std::int64_t batch_count,
                std::int64_t launches, double cycles) {
  const double elements =
      static_cast<double>(batch_count) * static_cast<double>(shape.m + shape.n) * static_cast<double>(shape.k);
  const double c = 4 * static_cast<double>(batch_count) * static_cast<double>(shape.m) * static_cast<double>(shape.n);
  const auto count = static_cast<double>(launches);
  return {splitting.method,
          count,
          cycles,
          elements * splitting.bytes,
          (batch_count > 1 ? SPLIT_BATCH : 0.0) + count * splitting.other,
          shape.n % 2 == 0 ? 0.0 : c};
}

Cost packed_cost(Cost cost, const Splitting& splitting, double packed) {
  cost.bytes -= packed * splitting.bytes;
  cost.streamed += packed * splitting.terms;
  return cost;
}

double microseconds(const BoardModel& board, const Cost& cost) {
  const MethodRates& rates = board[cost.method];
  const double at_full_clock = std::min(cost.cycles, board.full_clock_cycles);  // of a batch as a whole
  const double multiply = at_full_clock / rates.clock + (cost.cycles - at_full_clock) / rates.throttled;
  return cost.other + cost.launches * rates.launch + cost.bytes / rates.bytes + cost.single / rates.single +
         std::max(multiply, cost.streamed / rates.bytes);
}

Cost thin_cost(double bytes, double blocks, double cycles, std::int64_t launches) {
  return {Method::every_shape,
          0,
          cycles,
          std::max(bytes, blocks * THIN_BLOCK),
          static_cast<double>(launches) * THIN_CALL,
          0,
          THIN_AGAIN * bytes};
}

double recomputed_microseconds(const PredictedShape& shape, double passes) {
  const double of_block = std::max(FEWEST_PASSES, passes / shape.multiprocessors);
  return passes > 0 ? of_block * PASS * static_cast<double>(shape.k) / board_model()[Method::every_shape].clock : 0.0;
}

}  // namespace sgemm
