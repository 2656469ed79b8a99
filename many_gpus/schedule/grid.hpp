#pragma once

// Who owns what: the blocks of A, B and C on a grid of GPUs.

#include "common/ceil_div.hpp"
#include "common/problem.hpp"

#include <algorithm>
#include <cstdint>

namespace sgemm {

/// Indices from `begin` to before `end`.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  bool empty() const { return end <= begin; }
  bool operator==(const Range&) const = default;
};

inline Range intersection(Range x, Range y) {
  const std::int64_t begin = std::max(x.begin, y.begin);
  return {begin, std::max(begin, std::min(x.end, y.end))};
}

/// The length of each of so many parts, but for the last ones, which may be shorter or empty. Parts of 1000 and more
/// begin at multiples of 64, so that the rows of every block are aligned for every chapter.
inline std::int64_t part_length(std::int64_t extent, int parts) {
  constexpr std::int64_t LONG = 1000;
  constexpr std::int64_t UNIT = 64;
  const std::int64_t equal = ceil_div<std::int64_t>(extent, parts);
  return extent < LONG * parts ? equal : ceil_div(equal, UNIT) * UNIT;
}

inline Range part(std::int64_t extent, int parts, int index) {
  const std::int64_t length = part_length(extent, parts);
  return {std::min(index * length, extent), std::min((index + 1) * length, extent)};
}

/// Ranks, one for each GPU, in rows and columns: rank r stands in row r / columns and column r % columns.
///
/// The rank at (p, q) of a P x Q grid owns three blocks, as ScaLAPACK deals them out with one block a rank: rows p of A
/// with columns q of its K columns, rows p of B's K rows with columns q of B, and the block (p, q) of C. To compute its
/// C it needs all K of its rows of A, which the ranks of its grid row own, and all K of its columns of B, which those
/// of its grid column own.
struct Grid {
  int rows = 1;
  int columns = 1;

  int size() const { return rows * columns; }
  int row(int rank) const { return rank / columns; }
  int column(int rank) const { return rank % columns; }
  int rank(int row, int column) const { return row * columns + column; }

  Range c_rows(const Shape& shape, int rank) const { return part(shape.m, rows, row(rank)); }
  Range c_columns(const Shape& shape, int rank) const { return part(shape.n, columns, column(rank)); }
  /// The columns of A that the rank owns.
  Range a_depth(const Shape& shape, int rank) const { return part(shape.k, columns, column(rank)); }
  /// The rows of B that the rank owns.
  Range b_depth(const Shape& shape, int rank) const { return part(shape.k, rows, row(rank)); }

  /// Whether there is anything to compute for the rank: short dimensions may leave ranks without.
  bool has_c(const Shape& shape, int rank) const {
    return !c_rows(shape, rank).empty() && !c_columns(shape, rank).empty();
  }

  bool operator==(const Grid&) const = default;
};

/// Floats that the rank receives: its rows of A and its columns of B, less what it owns of them, where it has a block
/// of C.
inline double floats_received(const Shape& shape, const Grid& grid, int rank) {
  if (!grid.has_c(shape, rank)) {
    return 0.0;
  }
  const auto of_a = static_cast<double>(grid.c_rows(shape, rank).size() * (shape.k - grid.a_depth(shape, rank).size()));
  const auto of_b =
      static_cast<double>((shape.k - grid.b_depth(shape, rank).size()) * grid.c_columns(shape, rank).size());
  return of_a + of_b;
}

/// By the rank that receives most.
inline double most_floats_received(const Shape& shape, const Grid& grid) {
  double most = 0.0;
  for (int rank = 0; rank < grid.size(); ++rank) {
    most = std::max(most, floats_received(shape, grid, rank));
  }
  return most;
}

/// The grid of so many ranks whose busiest rank receives least, among equals the one with the fewest rows.
inline Grid best_grid(const Shape& shape, int ranks) {
  Grid best{1, ranks};
  for (int rows = 2; rows <= ranks; ++rows) {
    const Grid grid{rows, ranks / rows};
    if (grid.size() == ranks && most_floats_received(shape, grid) < most_floats_received(shape, best)) {
      best = grid;
    }
  }
  return best;
}

}  // namespace sgemm
