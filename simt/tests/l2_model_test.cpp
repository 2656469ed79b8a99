// The model of the L2 on GPUs whose cache holds a handful of lines.

#include "simt/l2_model.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace simt::test {
namespace {

using simt::BlockTraffic;
using simt::L2Traffic;
using simt::PlacedBlock;
using simt::Turns;

constexpr std::uint8_t LINE = 0xf;  // all sectors
constexpr std::uint64_t LINE_BYTES = 128;
constexpr unsigned WAYS = 16;  // lines in a set: of all of the smallest cache

simt::GpuModel tiny_gpu(unsigned sms = 1, unsigned lines = WAYS, unsigned partitions = 1) {
  simt::GpuModel gpu;
  gpu.sms = sms;
  gpu.l2_bytes = lines * LINE_BYTES;
  gpu.l2_partitions = partitions;
  return gpu;
}

void read_line(BlockTraffic& traffic, std::uint32_t line) { traffic.push_back({4 * line, LINE, 0, false}); }

/// Lines 0 to count - 1, so many times.
BlockTraffic repeated_reads(std::uint32_t count, unsigned times) {
  BlockTraffic traffic;
  for (unsigned time = 0; time < times; ++time) {
    for (std::uint32_t line = 0; line < count; ++line) {
      read_line(traffic, line);
    }
  }
  return traffic;
}

L2Traffic replay_blocks(const std::vector<PlacedBlock>& blocks, const simt::GpuModel& gpu, unsigned blocks_per_sm = 1,
                        Turns turns = Turns::in_step) {
  const simt::PlacedLaunch launch{blocks, {0, 1U << 20U, 1U << 21U}, blocks_per_sm};
  return simt::replay({&launch, 1}, turns, gpu).front();
}

L2Traffic replay_block(const BlockTraffic& traffic, const simt::GpuModel& gpu = tiny_gpu()) {
  return replay_blocks({{&traffic, {}}}, gpu);
}

/// The same lines, a power of two apart, twice.
BlockTraffic rows_of_a_matrix() {
  BlockTraffic traffic;
  for (std::uint32_t i = 0; i < 2 * 128; ++i) {
    read_line(traffic, i % 128 * 128);
  }
  return traffic;
}

TEST(L2Model, OneBlock) {
  BlockTraffic in_turns = repeated_reads(WAYS, 1);
  for (const std::uint32_t line : {0U, WAYS, 0U, 1U}) {  // line 0 is a hit, and 1 the oldest, whose place WAYS takes
    read_line(in_turns, line);
  }
  struct Case {
    std::string name;
    BlockTraffic traffic;
    std::uint64_t hits;  ///< sectors
    std::uint64_t read_from_dram;
    unsigned lines = WAYS;
  };
  for (const auto& [name, traffic, hits, read_from_dram, lines] : std::vector<Case>{
           {"nothing", {}, 0, 0},
           {"what fits is kept", repeated_reads(WAYS, 3), 2 * WAYS * 4, WAYS * LINE_BYTES},
           {"one line too many in turns", repeated_reads(WAYS + 1, 3), 0, 3 * (WAYS + 1) * LINE_BYTES},
           {"the least recently used line makes room", in_turns, 2 * 4, (WAYS + 2) * LINE_BYTES},
           {"a quarter has no conflicts", repeated_reads(1024, 2), 1024 * 4, 1024 * LINE_BYTES, 4096},
           {"a power of two apart", rows_of_a_matrix(), 128 * 4, 128 * LINE_BYTES, 4096},
           {"sectors alone", {{0, 0b0001, 0, false}, {0, 0b0011, 0, false}, {2, 0b0001, 0, false}}, 1, 3 * 32},
           {"arrays", {{0, LINE, 0, false}, {0, LINE, 1, false}, {0, LINE, 2, false}}, 0, 3 * LINE_BYTES},
           {"what was written", {{0, 0b0001, 2, true}, {0, 0b0011, 2, false}}, 1, 32}}) {
    SCOPED_TRACE(name);
    const L2Traffic result = replay_block(traffic, tiny_gpu(1, lines));
    EXPECT_EQ(result.read_hits, hits);
    EXPECT_EQ(result.dram_read_bytes, read_from_dram);
    EXPECT_EQ(result.dram_read_bytes, 32 * (result.read_sectors - result.read_hits));
  }
  EXPECT_EQ(replay_blocks({}, tiny_gpu()).dram_read_bytes, 0) << "no block";
}

TEST(L2Model, FindsLinesAfterTheShift) {
  BlockTraffic traffic;
  for (unsigned time = 0; time < 2; ++time) {
    for (std::uint32_t line = 0; line < WAYS; ++line) {
      traffic.push_back({4 * line + 2, LINE, 0, false});  // half in one line, half in the next
    }
  }
  const auto hits = [&](std::int64_t shift) {
    return replay_blocks({{&traffic, {shift, 0, 0}}}, tiny_gpu()).read_hits;
  };
  EXPECT_EQ(hits(2), WAYS * 4);
  EXPECT_EQ(hits(-2), WAYS * 4);
  EXPECT_LT(hits(0), WAYS * 4);  // one line more than fits
}

TEST(L2Model, WritesNeedNoFetchAndReachDramWhenTheirLineMakesRoom) {
  BlockTraffic traffic{{0, 0b0110, 2, true}};
  EXPECT_EQ(replay_block(traffic).dram_written_bytes, 0);
  EXPECT_EQ(replay_block(traffic).dram_read_bytes, 0);
  EXPECT_EQ(replay_block(traffic).written_sectors, 2);
  for (std::uint32_t line = 0; line < WAYS; ++line) {
    read_line(traffic, line);
  }
  EXPECT_EQ(replay_block(traffic).dram_written_bytes, 2 * 32);
  for (std::uint32_t line = WAYS; line < 3 * WAYS; ++line) {
    read_line(traffic, line);
  }
  EXPECT_EQ(replay_block(traffic).dram_written_bytes, 2 * 32) << "written back twice";
}

TEST(L2Model, PartitionsCopyWhatBothRead) {
  // Two SMs, one in each partition, read the same lines: from DRAM once, but both partitions have to hold them.
  const BlockTraffic few = repeated_reads(WAYS / 2, 2);
  EXPECT_EQ(replay_blocks({{&few, {}}, {&few, {}}}, tiny_gpu(2, 2 * WAYS, 2)).dram_read_bytes, WAYS / 2 * LINE_BYTES);

  const BlockTraffic more = repeated_reads(WAYS + 1, 2);
  EXPECT_EQ(replay_blocks({{&more, {}}, {&more, {}}}, tiny_gpu(2, 4 * WAYS, 1)).dram_read_bytes,
            (WAYS + 1) * LINE_BYTES);
  EXPECT_GT(replay_blocks({{&more, {}}, {&more, {}}}, tiny_gpu(2, 2 * WAYS, 2)).dram_read_bytes,
            (WAYS + 1) * LINE_BYTES);
}

TEST(L2Model, ResidentBlocksShareWhatTheyReadTogether) {
  const BlockTraffic traffic = repeated_reads(8 * WAYS, 1);
  const std::vector<PlacedBlock> blocks(4, {&traffic, {}});
  const std::uint64_t once = LINE_BYTES * 8 * WAYS;
  EXPECT_EQ(replay_blocks(blocks, tiny_gpu(4)).dram_read_bytes, once);
  EXPECT_EQ(replay_blocks(blocks, tiny_gpu(2)).dram_read_bytes, 2 * once);
  EXPECT_EQ(replay_blocks(blocks, tiny_gpu(1)).dram_read_bytes, 4 * once);
  EXPECT_EQ(replay_blocks(blocks, tiny_gpu(1), 4).dram_read_bytes, once);
}

TEST(L2Model, BlocksInTurnFindLessThanInStep) {
  const BlockTraffic traffic = repeated_reads(8 * WAYS, 1);
  const std::vector<PlacedBlock> blocks(4, {&traffic, {}});
  const std::uint64_t once = LINE_BYTES * 8 * WAYS;
  EXPECT_EQ(replay_blocks(blocks, tiny_gpu(2), 2, Turns::in_step).dram_read_bytes, once);
  // The first blocks of both SMs together, then the second ones.
  EXPECT_EQ(replay_blocks(blocks, tiny_gpu(2), 2, Turns::in_turn).dram_read_bytes, 2 * once);
}

TEST(L2Model, BlocksStartInOrder) {
  // Blocks 0 and 1 read the same and start together, as do 2 and 3.
  const BlockTraffic traffic = repeated_reads(8 * WAYS, 1);
  const std::int64_t elsewhere = 1000;
  const std::uint64_t once = LINE_BYTES * 8 * WAYS;
  const PlacedBlock here{&traffic, {}};
  const PlacedBlock there{&traffic, {elsewhere, 0, 0}};
  EXPECT_EQ(replay_blocks({here, here, there, there}, tiny_gpu(2)).dram_read_bytes, 2 * once);
  EXPECT_EQ(replay_blocks({here, there, here, there}, tiny_gpu(2)).dram_read_bytes, 4 * once);
}

TEST(L2Model, LaunchesFindWhatEarlierOnesHaveLeft) {
  BlockTraffic writes;
  for (std::uint32_t line = 0; line < WAYS; ++line) {
    writes.push_back({4 * line, LINE, 0, true});
  }
  BlockTraffic reads = repeated_reads(WAYS, 1);
  read_line(reads, WAYS);  // and one that takes the place of the line that was read first
  const std::vector<PlacedBlock> first{{&writes, {}}};
  const std::vector<PlacedBlock> second{{&reads, {}}};
  const std::vector<L2Traffic> traffic =
      simt::replay(std::vector<simt::PlacedLaunch>{{first, {}, 1}, {second, {}, 1}}, Turns::in_step, tiny_gpu());
  ASSERT_EQ(traffic.size(), 2U);
  EXPECT_EQ(traffic[0].written_sectors, 4U * WAYS);
  EXPECT_EQ(traffic[0].dram_written_bytes, 0U);
  EXPECT_EQ(traffic[1].written_sectors, 0U);
  EXPECT_EQ(traffic[1].read_hits, 4U * WAYS);
  EXPECT_EQ(traffic[1].dram_read_bytes, LINE_BYTES);
  EXPECT_EQ(traffic[1].dram_written_bytes, LINE_BYTES);
}

}  // namespace
}  // namespace simt::test
