#pragma once

// The distribution of matrices that ScaLAPACK has, and cuBLASMp after it.

#include "base/outcome.hpp"
#include "common/problem.hpp"
#include "schedule/grid.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include <fmt/format.h>

namespace sgemm {

/// Ranges of indices that follow one another in memory, whatever lies between them.
inline std::int64_t length(const std::vector<Range>& ranges) {
  return std::accumulate(ranges.begin(), ranges.end(), std::int64_t{0},
                         [](std::int64_t sum, const Range& range) { return sum + range.size(); });
}

/// Blocks of so many indices are dealt out to `processes` in turn: those of process `index`.
inline std::vector<Range> dealt(std::int64_t extent, std::int64_t block, int processes, int index) {
  std::vector<Range> ranges;
  for (std::int64_t begin = block * index; begin < extent; begin += block * processes) {
    ranges.push_back({begin, std::min(begin + block, extent)});
  }
  return ranges;
}

/// A product of which each rank has one block of C, the same as in chapter 14. A and B are cut at the same k, as
/// cuBLASMp asks: into the least number of blocks that deals as many to each column of the grid (A) as to each row (B).
/// Where the grid has as many rows as columns, or one of either, a rank has what chapter 14 gives it of A and B.
class BlockCyclic {
 public:
  /// Throws CaseStopped (not supported) where a rank would have nothing of a matrix.
  BlockCyclic(const Shape& shape, const Grid& grid) : shape_(shape), grid_(grid) {
    for (int rank = 0; rank < grid.size(); ++rank) {
      if (!grid.has_c(shape, rank) || a_depth(rank).empty() || b_depth(rank).empty()) {
        throw CaseStopped(Outcome::not_supported,
                          fmt::format("a grid of {}x{} leaves ranks without a block", grid.rows, grid.columns));
      }
    }
  }

  const Shape& shape() const { return shape_; }
  const Grid& grid() const { return grid_; }
  // Of a block:
  std::int64_t rows() const { return part_length(shape_.m, grid_.rows); }
  std::int64_t columns() const { return part_length(shape_.n, grid_.columns); }
  std::int64_t depth() const { return part_length(shape_.k, std::lcm(grid_.rows, grid_.columns)); }

  /// The columns of A that the rank has.
  std::vector<Range> a_depth(int rank) const { return dealt(shape_.k, depth(), grid_.columns, grid_.column(rank)); }
  /// The rows of B that the rank has.
  std::vector<Range> b_depth(int rank) const { return dealt(shape_.k, depth(), grid_.rows, grid_.row(rank)); }

  /// That the rank has to get from others: the rest of its rows of A, and of its columns of B.
  double floats_received(int rank) const {
    const std::int64_t of_a = grid_.c_rows(shape_, rank).size() * (shape_.k - length(a_depth(rank)));
    const std::int64_t of_b = (shape_.k - length(b_depth(rank))) * grid_.c_columns(shape_, rank).size();
    return static_cast<double>(of_a + of_b);
  }

 private:
  Shape shape_;
  Grid grid_;
};

}  // namespace sgemm
