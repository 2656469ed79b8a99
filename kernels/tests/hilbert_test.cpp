#include "common/hilbert.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

namespace sgemm {
namespace {

std::vector<TileIndex> curve(int rows, int cols) {
  std::vector<TileIndex> tiles;
  for (int i = 0; i < rows * cols; ++i) {
    tiles.push_back(hilbert_tile(i, rows, cols));
  }
  return tiles;
}

int distance(const TileIndex& x, const TileIndex& y) { return std::abs(x.row - y.row) + std::abs(x.col - y.col); }

TEST(Hilbert, VisitsEveryTileOfAnyGridOnceAndNeighboursShareACornerAtLeast) {
  for (int rows = 1; rows <= 40; ++rows) {
    for (int cols = 1; cols <= 40; ++cols) {
      std::set<std::pair<int, int>> seen;
      TileIndex last = hilbert_tile(0, rows, cols);
      for (const TileIndex& tile : curve(rows, cols)) {
        ASSERT_TRUE(tile.row >= 0 && tile.row < rows && tile.col >= 0 && tile.col < cols) << rows << "x" << cols;
        ASSERT_LE(std::abs(tile.row - last.row), 1) << rows << "x" << cols << " at " << seen.size();
        ASSERT_LE(std::abs(tile.col - last.col), 1) << rows << "x" << cols << " at " << seen.size();
        seen.insert({tile.row, tile.col});
        last = tile;
      }
      ASSERT_EQ(seen.size(), static_cast<std::size_t>(rows * cols)) << rows << "x" << cols;
    }
  }
}

TEST(Hilbert, NeighboursShareAnEdgeOnPowerOfTwoGrids) {
  for (int rows = 1; rows <= 64; rows *= 2) {
    for (int cols = 1; cols <= 64; cols *= 2) {
      const auto tiles = curve(rows, cols);
      for (std::size_t i = 1; i < tiles.size(); ++i) {
        ASSERT_EQ(distance(tiles[i - 1], tiles[i]), 1) << rows << "x" << cols << " at " << i;
      }
    }
  }
}

// The purpose of the curve: any 64 consecutive tiles that start at a multiple of 64 fill an 8 x 8 square, which reads
// 8 slices of A and 8 of B where a column of 64 tiles reads 64 and 1.
TEST(Hilbert, SixtyFourConsecutiveTilesAreASquare) {
  const auto tiles = curve(32, 32);
  for (std::size_t begin = 0; begin < tiles.size(); begin += 64) {
    std::set<int> rows;
    std::set<int> cols;
    for (std::size_t i = begin; i < begin + 64; ++i) {
      rows.insert(tiles[i].row);
      cols.insert(tiles[i].col);
    }
    EXPECT_EQ(rows.size(), 8U);
    EXPECT_EQ(cols.size(), 8U);
  }
}

TEST(Hilbert, WorksInConstantExpressionsAndOnHugeGrids) {
  static_assert(hilbert_tile(0, 2, 2).row == 0 && hilbert_tile(0, 2, 2).col == 0);
  const int side = 1 << 20;
  const TileIndex last = hilbert_tile(static_cast<long long>(side) * side - 1, side, side);
  EXPECT_TRUE(last.row == 0 || last.col == 0);
}

}  // namespace
}  // namespace sgemm
