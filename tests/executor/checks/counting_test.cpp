// What is counted of kernels that make known requests, and that blocks which are not executed are counted as if they
// were.

#include "../counted_kernels.hpp"
#include "fixtures/product_case.hpp"
#include "fixtures/tested_kernel.hpp"
#include "host/kernel.hpp"
#include "problem/checked_operands.hpp"
#include "simt/counter.hpp"
#include "simt/gpu_models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace sgemm::test {
namespace {

using simt::AccessKind;
using simt::LaunchCounts;
using simt::Traffic;

constexpr std::size_t L1_BYTES = 32 * 1024;
std::size_t l1_bytes(std::size_t, unsigned) { return L1_BYTES; }

constexpr simt::CountingLimits WHOLE{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
                                     8};
/// Whole only where the blocks can not be predicted.
constexpr simt::CountingLimits SAMPLED{0.0, std::numeric_limits<double>::infinity(), 8};
constexpr simt::CountingLimits NEVER_WHOLE{0.0, 0.0, 8};

LaunchCounts counts_of(CountedKernel kernel) {
  Matrix in(1, COUNTED_ELEMENTS, {}, 1.0F);
  Matrix out(1, COUNTED_ELEMENTS, {}, 0.0F);
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

/// A product of so many rows, columns and steps, and how it is counted.
class CountedProduct {
 public:
  CountedProduct(std::int64_t m, std::int64_t n, std::int64_t k, float beta = 0.0F)
      : a_(m, k, {}, 0.5F), b_(k, n, {}, 0.25F), c_(m, n, {}, 0.0F) {
    problem_ = {m, n, k, 1.5F, beta, a_.data(), a_.ld(), b_.data(), b_.ld(), c_.data(), c_.ld()};
  }

  /// Those of the first launch.
  LaunchCounts count(const std::function<void(const Problem&)>& launch, const simt::CountingLimits& limits) {
    return std::move(count_all(launch, limits).front());
  }
  std::vector<LaunchCounts> count_all(const std::function<void(const Problem&)>& launch,
                                      const simt::CountingLimits& limits) {
    std::vector<simt::CountedArray> arrays;
    for (simt::GlobalArray& array : arrays_of(problem_)) {
      arrays.push_back({std::move(array), 0, 1});
    }
    simt::Counting counting(std::move(arrays), l1_bytes, limits);
    launch(problem_);
    return counting.take();
  }
  const Problem& problem() const { return problem_; }

 private:
  Matrix a_;
  Matrix b_;
  Matrix c_;
  Problem problem_;
};

std::vector<std::string> lines_of(const LaunchCounts& counts) {
  std::vector<std::string> lines;
  for (const simt::LineCounts& line : counts.lines) {
    lines.push_back(line.file + ':' + std::to_string(line.line) + ' ' + line.array + ' ' +
                    std::to_string(line.traffic.requests) + ' ' + std::to_string(line.traffic.sectors) + ' ' +
                    std::to_string(line.traffic.wavefronts) + ' ' + std::to_string(line.flops));
  }
  return lines;
}

/// All but the order of the blocks' accesses, which the model of the L2 shows.
void expect_same(const LaunchCounts& counts, const LaunchCounts& whole) {
  EXPECT_EQ(counts.blocks, whole.blocks);
  EXPECT_EQ(counts.traffic, whole.traffic);
  EXPECT_EQ(counts.flops, whole.flops);
  EXPECT_EQ(counts.barriers, whole.barriers);
  EXPECT_EQ(counts.smem_bytes, whole.smem_bytes);
  EXPECT_EQ(counts.bytes_read, whole.bytes_read);
  EXPECT_EQ(lines_of(counts), lines_of(whole));
  for (const std::uint64_t blocks : {std::uint64_t{1}, std::uint64_t{5}, whole.blocks}) {
    EXPECT_EQ(counts.elements_read_by_first(blocks), whole.elements_read_by_first(blocks));
  }
  simt::GpuModel gpu = *simt::find_gpu_model("h200");
  gpu.sms = 3;
  gpu.l2_bytes = 64 * 1024;
  const auto replayed = [&](const LaunchCounts& launch) {
    const simt::L2Traffic l2 =
        simt::replay({launch.placed, {0, 1U << 20U, 1U << 21U, 1U << 22U}, 2}, simt::Turns::in_turn, gpu);
    return std::vector<std::uint64_t>{l2.read_sectors, l2.read_hits, l2.written_sectors, l2.dram_read_bytes,
                                      l2.dram_written_bytes};
  };
  EXPECT_EQ(replayed(counts), replayed(whole));
}

struct CountedShape {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  float beta;
};

class CountedKernelTest : public testing::TestWithParam<const Kernel*> {
 protected:
  static bool some_left_out(const std::vector<LaunchCounts>& launches) {
    return std::any_of(launches.begin(), launches.end(),
                       [](const LaunchCounts& counts) { return counts.blocks_executed < counts.blocks; });
  }

  /// The counts by samples agree with those block by block.
  static void expect_whole(const CountedShape& shape, const std::vector<LaunchCounts>& sampled) {
    const std::vector<LaunchCounts> whole = count(shape, WHOLE);
    ASSERT_EQ(sampled.size(), whole.size());
    double flops = 0.0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      EXPECT_TRUE(whole[i].whole());
      expect_same(sampled[i], whole[i]);
      flops += static_cast<double>(*whole[i].flops);
    }
    const double products = static_cast<double>(shape.m * shape.n * shape.k);
    if (GetParam()->accuracy == AccuracyClass::fp32) {
      EXPECT_GE(flops, 2.0 * products);
    } else {  // those of tensor cores are not counted
      EXPECT_LT(flops, 2.0 * products);
    }
  }

  static std::vector<LaunchCounts> count(const CountedShape& shape, const simt::CountingLimits& limits) {
    CountedProduct product(shape.m, shape.n, shape.k, shape.beta);
    const Prepared prepared = GetParam()->build(Target::for_checks).prepare(product.problem());
    return product.count_all([&](const Problem& p) { prepared(p, nullptr); }, limits);
  }

  static bool has_workspace(const CountedShape& shape) {
    return GetParam()
               ->build(Target::for_checks)
               .configurations(CountedProduct(shape.m, shape.n, shape.k).problem())
               .front()
               .workspace_bytes > 0;
  }
};

TEST_P(CountedKernelTest, SamplesTellTheWhole) {
  for (const CountedShape& shape : {CountedShape{300, 333, 13, 0.0F}, CountedShape{70, 50, 90, 1.0F}}) {
    expect_whole(shape, count(shape, SAMPLED));
  }
  // With whole tiles and without; k fills a stage of every kernel.
  for (CountedShape shape : {CountedShape{128, 144, 64, 0.0F}, CountedShape{125, 142, 72, -0.5F}}) {
    std::vector<LaunchCounts> sampled = count(shape, SAMPLED);
    // The larger its tiles, the larger the product of which a kernel's blocks need not all be executed.
    while (shape.m < 1000 && !some_left_out(sampled) && !has_workspace(shape)) {
      shape.m *= 2;
      shape.n *= 2;
      sampled = count(shape, SAMPLED);
    }
    // Blocks with a workspace may depend on each other.
    EXPECT_EQ(some_left_out(sampled), !has_workspace(shape));
    expect_whole(shape, sampled);
  }
}

std::vector<const Kernel*> counted_kernels() {
  std::vector<const Kernel*> counted;
  for (const Kernel& kernel : kernels()) {
    if (kernel.build(Target::for_checks)) {
      counted.push_back(&kernel);
    }
  }
  return counted;
}

INSTANTIATE_TEST_SUITE_P(Registered, CountedKernelTest, testing::ValuesIn(counted_kernels()),
                         [](const auto& info) { return test_name(info.param->id()); });

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

TEST(Counting, ElementsOfTheFirstWave) {
  // The tiling document's arithmetic: 64 tiles of 128 x 256 in a row need 128 rows of A and 16384 columns of B, and as
  // a square of 8 x 8 tiles, along the Hilbert curve, 1024 and 2048.
  constexpr std::int64_t K = 16;
  CountedProduct product(1024, 16384, K);
  const auto elements = [&](const std::string& id) {
    const auto kernel = std::find_if(kernels().begin(), kernels().end(), [&](const Kernel& k) { return k.id() == id; });
    return product
        .count([&](const Problem& p) { kernel->build(Target::for_checks).prepare(p)(p, nullptr); }, NEVER_WHOLE)
        .elements_read_by_first(64);
  };
  EXPECT_EQ(elements("07_warptile_hilbert:row_order"), 16512U * K);
  EXPECT_EQ(elements("07_warptile_hilbert"), 3072U * K);
}

}  // namespace
}  // namespace sgemm::test
