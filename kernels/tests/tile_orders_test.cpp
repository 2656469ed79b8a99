// The traffic of three orders of tiles that the model found when it was last compared with the counters.

#include "common/hilbert.hpp"
#include "simt/l2_model.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace sgemm {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t LINE_FLOATS = 32;
constexpr std::int64_t SECTOR_FLOATS = 8;
constexpr std::uint8_t WHOLE_LINE = 0xf;
enum Array : std::uint8_t { A, B, C };

struct Product {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t tile_m;
  std::int64_t tile_n;
};

/// The lines that the block of the first tile copies: for 32 values of k those of A, then those of B, and in the end
/// those that it writes of C.
simt::BlockTraffic lines_of_block(const Product& p) {
  simt::BlockTraffic lines;
  const auto add = [&](Array array, std::int64_t element, bool write) {
    lines.push_back({static_cast<std::uint32_t>(element / SECTOR_FLOATS), WHOLE_LINE, array, write});
  };
  for (std::int64_t k = 0; k < p.k; k += LINE_FLOATS) {
    for (std::int64_t row = 0; row < p.tile_m; ++row) {
      add(A, row * p.k + k, false);
    }
    for (std::int64_t row = k; row < k + LINE_FLOATS; ++row) {
      for (std::int64_t column = 0; column < p.tile_n; column += LINE_FLOATS) {
        add(B, row * p.n + column, false);
      }
    }
  }
  for (std::int64_t row = 0; row < p.tile_m; ++row) {
    for (std::int64_t column = 0; column < p.tile_n; column += LINE_FLOATS) {
      add(C, row * p.n + column, true);
    }
  }
  return lines;
}

/// Groups of rows of tiles, column by column in each.
TileIndex grouped_tile(int index, int rows, int cols, int group_rows) {
  const int first = index / (group_rows * cols) * group_rows;
  const int height = std::min(group_rows, rows - first);
  return {first + (index - first * cols) % height, (index - first * cols) / height};
}

TileIndex tile_at(const std::string& order, int index, int rows, int cols, int group_rows) {
  if (order == "hilbert") {
    return hilbert_tile(index, rows, cols);
  }
  return order == "rows" ? TileIndex{index / cols, index % cols} : grouped_tile(index, rows, cols, group_rows);
}

Json replayed(const Json& item) {
  const Product p{item.at("m"), item.at("n"), item.at("k"), item.at("tileM"), item.at("tileN")};
  const simt::BlockTraffic lines = lines_of_block(p);
  const int rows = static_cast<int>(p.m / p.tile_m);
  const int cols = static_cast<int>(p.n / p.tile_n);
  std::vector<simt::PlacedBlock> blocks;
  for (int index = 0; index < rows * cols; ++index) {
    const TileIndex tile = tile_at(item.at("order"), index, rows, cols, item.at("groupRows"));
    const std::int64_t row = tile.row * p.tile_m;
    const std::int64_t column = tile.col * p.tile_n;
    blocks.push_back(
        {&lines, {row * p.k / SECTOR_FLOATS, column / SECTOR_FLOATS, (row * p.n + column) / SECTOR_FLOATS, 0}});
  }
  const auto sectors = [](std::int64_t floats) { return static_cast<std::uint64_t>(floats / SECTOR_FLOATS); };
  const std::uint64_t b = sectors(p.m * p.k);
  const std::uint64_t c = b + sectors(p.k * p.n);
  const simt::L2Traffic traffic = simt::replay({blocks, {0, b, c, c + sectors(p.m * p.n)}, item.at("blocksPerSm")},
                                               item.at("inTurn") ? simt::Turns::in_turn : simt::Turns::in_step,
                                               *simt::find_gpu_model(item.at("gpu").get<std::string>()));
  return {{"readSectors", traffic.read_sectors},
          {"readHits", traffic.read_hits},
          {"writtenSectors", traffic.written_sectors},
          {"dramReadBytes", traffic.dram_read_bytes},
          {"dramWrittenBytes", traffic.dram_written_bytes}};
}

TEST(TileOrders, HaveTheTrafficThatTheViewersAreHeldTo) {
  std::ifstream file(SGEMM_SOURCE_DIR "/tests/fixtures/tile_orders.json");
  const Json cases = Json::parse(file);
  ASSERT_FALSE(cases.empty());
  for (const Json& item : cases) {
    EXPECT_EQ(replayed(item), item.at("traffic")) << item;
  }
}

}  // namespace
}  // namespace sgemm
