// Kernels that make known requests are counted, and blocks that are not executed count as if they were.

#include "counted_kernels.hpp"
#include "counted_product.hpp"
#include "guarded_array.hpp"

#include "simt/counter.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace sgemm::test {
namespace {

using simt::AccessKind;
using simt::Traffic;

LaunchCounts counts_of(CountedKernel kernel) {
  GuardedArray in(COUNTED_ELEMENTS, 1.0F);
  GuardedArray out(COUNTED_ELEMENTS, 0.0F);
  const std::size_t bytes = COUNTED_ELEMENTS * sizeof(float);
  simt::Counting counting({{{"IN", in.data(), 1, bytes, bytes, false}}, {{"OUT", out.data(), 1, bytes, bytes, true}}},
                          l1_bytes, WHOLE);
  kernel(in.data(), out.data());
  return std::move(counting.take().front());
}

const Traffic& of(const LaunchCounts& counts, AccessKind kind) {
  return counts.traffic[static_cast<std::size_t>(kind)];
}

void expect_shared(CountedKernel kernel, std::uint64_t wavefronts) {
  const LaunchCounts counts = counts_of(kernel);
  EXPECT_EQ(of(counts, AccessKind::shared_store), (Traffic{1, 0, wavefronts, 1, 128}));
  EXPECT_EQ(of(counts, AccessKind::shared_load), (Traffic{1, 0, wavefronts, 1, 128}));
  EXPECT_EQ(of(counts, AccessKind::global_load), (Traffic{1, 4, 0, 0, 128}));
  EXPECT_EQ(of(counts, AccessKind::global_store), (Traffic{1, 4, 0, 0, 128}));
}

TEST(Counting, BankConflicts) {
  expect_shared(shared_stride_1, 1);
  expect_shared(shared_stride_2, 2);
  expect_shared(shared_stride_32, 32);
  expect_shared(shared_stride_33, 1);
}

TEST(Counting, SharedMemoryOfABlock) {
  constexpr std::size_t DYNAMIC = 1024;
  EXPECT_EQ(counts_of(global_broadcast).smem_bytes, DYNAMIC);
  EXPECT_EQ(counts_of(shared_stride_33).smem_bytes, DYNAMIC + 32 * 33 * sizeof(float));
}

TEST(Counting, SectorsOfScatteredLoads) {
  EXPECT_EQ(of(counts_of(global_broadcast), AccessKind::global_load), (Traffic{1, 1, 0, 0, 128}));
  EXPECT_EQ(of(counts_of(global_stride_2), AccessKind::global_load), (Traffic{1, 8, 0, 0, 128}));
  EXPECT_EQ(of(counts_of(global_stride_8), AccessKind::global_load), (Traffic{1, 32, 0, 0, 128}));
}

TEST(Counting, VectorsAreOneRequest) {
  const LaunchCounts counts = counts_of(global_vectors);
  EXPECT_EQ(of(counts, AccessKind::global_load), (Traffic{1, 16, 0, 0, 512}));
  EXPECT_EQ(of(counts, AccessKind::global_store), (Traffic{1, 16, 0, 0, 512}));
}

TEST(Counting, LanesThatGoSeparateWays) {
  EXPECT_EQ(of(counts_of(half_of_the_lanes), AccessKind::global_load), (Traffic{1, 4, 0, 0, 64}));
  EXPECT_EQ(of(counts_of(half_of_the_lanes), AccessKind::global_store), (Traffic{1, 4, 0, 0, 128}));
  EXPECT_EQ(of(counts_of(upper_lanes_first), AccessKind::global_load), (Traffic{2, 2 + 4, 0, 0, 64 + 128}));
  EXPECT_EQ(of(counts_of(upper_lanes_first), AccessKind::global_store), (Traffic{1, 4, 0, 0, 128}));
  // 24, 16 and 8 lanes in three turns of the loop; every sector has lanes of each kind.
  EXPECT_EQ(of(counts_of(different_trip_counts), AccessKind::global_load), (Traffic{3, 12, 0, 0, 4 * (24 + 16 + 8)}));
}

TEST(Counting, AsynchronousCopies) {
  const LaunchCounts counts = counts_of(async_copies);
  const Traffic& copies = of(counts, AccessKind::async_copy);
  EXPECT_EQ(copies.requests, 2U);
  EXPECT_EQ(copies.sectors, 2U + 16U);  // zeros are not read
  EXPECT_EQ(copies.bytes, 16U * 4U + 32U * 16U);
  EXPECT_EQ(copies.wavefronts, 1U + 4U);
  EXPECT_EQ(of(counts, AccessKind::global_load).requests, 0U);
  EXPECT_EQ(of(counts, AccessKind::shared_store).requests, 0U);
  EXPECT_EQ(of(counts, AccessKind::shared_load).requests, 2U);
}

TEST(Counting, Barriers) { EXPECT_EQ(counts_of(some_barriers).barriers, 3U * 2U + 2U); }

TEST(Counting, FloatingPointOperations) {
  const LaunchCounts counts = counts_of(some_flops);
  ASSERT_TRUE(counts.flops.has_value());
  EXPECT_EQ(*counts.flops, 33U * 7U);
  std::uint64_t of_lines = 0;
  for (const simt::LineCounts& line : counts.lines) {
    EXPECT_EQ(line.file, "counted_kernels.cu");
    EXPECT_TRUE(line.flops == 0 || !line.kind);
    of_lines += line.flops;
  }
  EXPECT_EQ(of_lines, 33U * 7U);
  EXPECT_EQ(of(counts, AccessKind::global_load).requests, 4U);  // of two warps, the second with a single lane
  EXPECT_EQ(*counts_of(global_stride_2).flops, 0U);
}

TEST(Counting, LinesSayWhoDoesWhat) {
  const LaunchCounts counts = counts_of(shared_stride_2);
  std::vector<std::string> found;
  for (const simt::LineCounts& line : counts.lines) {
    EXPECT_GT(line.line, 0U);
    found.push_back(line.array);
    EXPECT_EQ(line.example.active, ~0U);
    EXPECT_EQ(line.example.address[0], 0U);
    EXPECT_EQ(line.example.address[3], line.array == "values" ? 24U : 12U);
  }
  EXPECT_EQ(found, (std::vector<std::string>{"IN", "values", "OUT", "values"}));
}

TEST(Counting, L1KeepsWhatTheBlockReadsAgain) {
  const LaunchCounts counts = counts_of(same_line_again);
  EXPECT_EQ(of(counts, AccessKind::global_load), (Traffic{16, 64, 0, 0, 2048}));
  std::vector<std::pair<bool, int>> asked;
  for (const simt::SectorAccess& access : counts.executed.front()->traffic) {
    asked.emplace_back(access.write, access.mask);
  }
  std::vector<std::pair<bool, int>> expected(9, {true, 15});
  expected.front() = {false, 15};
  EXPECT_EQ(asked, expected);
}

TEST(Counting, BlocksInAnyOrder) {
  CountedProduct product(400, 330, 20);
  const LaunchCounts sampled = product.count(shuffled_product, NEVER_WHOLE);
  EXPECT_LT(sampled.blocks_executed, sampled.blocks);
  expect_same(sampled, product.count(shuffled_product, WHOLE));
}

TEST(Counting, BlocksThatAreNoCopiesAreAllExecuted) {
  CountedProduct product(400, 330, 20);
  const std::vector<std::pair<std::string, void (*)(const Problem&)>> kernels{
      {"persistent", persistent_product},
      {"extra reads", product_with_extra_reads},
      {"extra reads at the end", product_with_extra_reads_at_the_end},
      {"different conflicts", product_with_different_conflicts},
      {"fill", fill}};
  for (const auto& [name, kernel] : kernels) {
    SCOPED_TRACE(name);
    const LaunchCounts counts = product.count(kernel, SAMPLED);
    EXPECT_TRUE(counts.whole());
    expect_same(counts, product.count(kernel, WHOLE));
    try {
      EXPECT_TRUE(product.count(kernel, NEVER_WHOLE).whole()) << "it was counted by samples";
    } catch (const simt::NotCountable& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("too large to be executed block by block, and "), std::string::npos) << message;
    }
  }
}

TEST(Counting, ProductThatIsCountedWholeIsRight) {
  CountedProduct product(64, 48, 32);
  const LaunchCounts counts = product.count(persistent_product, WHOLE);
  EXPECT_EQ(counts.blocks, 8U);
  EXPECT_EQ(counts.bytes_read[0], 64U * 48U * 32U * 4U);
  EXPECT_EQ(*counts.flops, 2U * 64U * 48U * 32U + 64U * 48U);
  EXPECT_EQ(counts.elements_read_by_first(8), 64U * 32U + 32U * 48U);
}

}  // namespace
}  // namespace sgemm::test
