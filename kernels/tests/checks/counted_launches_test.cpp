// Counts of chapters 11, 12, 13, 16 and 17, launch by launch, against the arithmetic of their pages.

#include "base/kernel.hpp"
#include "counted_chapter.hpp"
#include "fixtures/tested_kernel.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>

namespace sgemm::test {
namespace {

using simt::AccessKind;

// Whole tiles: of C, 128x128, or 128x256 and the half of one, and of the operands, 128 by 64 or 128.
constexpr std::int64_t M = 256;
constexpr std::int64_t N = 384;
constexpr std::int64_t K = 256;
constexpr std::int64_t NUMBERS = M * K + K * N;
constexpr std::int64_t LINES = M + N;  ///< rows of A and columns of B

/// What makes the chapters differ.
struct Splitting {
  const char* kernel;
  std::int64_t terms;
  std::int64_t term_bytes;
  std::int64_t products;
  std::int64_t k_tile;
  std::int64_t scaling_bytes;  ///< that the splitting writes of the 144 of an operand tile, 0 without scaling
  std::int64_t split_blocks;   ///< for these operands
  const char* configuration = "128x128";
  bool by_mma_sync = false;      ///< which has copies of terms alone, loads by ldmatrix, and a byte for a line's scale
  bool is_wide = false;          ///< tiles of C are 128x256
  std::int64_t other_bytes = 0;  ///< that the splitting writes for the producers
  std::int64_t copied_scaling = 144;  ///< bytes of an operand tile's scaling that are copied, used or not

  std::int64_t bytes_of_terms() const { return NUMBERS * terms * term_bytes; }
  std::int64_t k_tiles() const { return K / k_tile; }
  std::int64_t operand_tiles() const { return LINES / 128 * k_tiles(); }
  std::int64_t bytes_of_scaling() const { return by_mma_sync ? LINES : operand_tiles() * scaling_bytes + other_bytes; }
};
std::ostream& operator<<(std::ostream& out, const Splitting& splitting) { return out << splitting.kernel; }

constexpr Splitting BF16X6{"11_bf16x6", 3, 2, 6, 64, 0, 20, "", false, true, 4, 0};
constexpr Splitting FP16X3{"12_fp16x3", 2, 2, 3, 64, 140, 20, "", false, true, 4};
// Blocks of 8 whole lines each.
constexpr Splitting INT8X6{"13_int8x6", 3, 1, 6, 128, 132, 80, "", false, false, 4, 256};
constexpr Splitting FP16X3_MMA{"16_fp16x3_mma", 2, 2, 3, 32, 0, 80, "", true};
constexpr Splitting INT8X6_MMA{"17_int8x6_mma", 3, 1, 6, 64, 0, 80, "", true};

const Build& build_of(const Splitting& splitting) { return find_kernel(splitting.kernel)->build(Target::for_checks); }

std::vector<LaunchCounts> count(const Splitting& splitting, std::int64_t m = M, std::int64_t n = N,
                                std::int64_t k = K) {
  CountedProduct product(m, n, k);
  const Prepared prepared = prepare_named(build_of(splitting), product.problem(), splitting.configuration);
  return product.count_all([&](const Problem& p) { prepared(p, nullptr); }, WHOLE);
}

/// Bytes of one array that lines of this kind ask for.
std::int64_t bytes_of(const LaunchCounts& launch, AccessKind kind, std::string_view array) {
  std::uint64_t bytes = 0;
  for (const simt::LineCounts& line : launch.lines) {
    bytes += line.kind == kind && line.array == array ? line.traffic.bytes : 0;
  }
  return static_cast<std::int64_t>(bytes);
}

/// Bytes of A and of B that the launch reads.
std::int64_t operands_read(const LaunchCounts& launch) {
  return bytes_of(launch, AccessKind::global_load, "A") + bytes_of(launch, AccessKind::global_load, "B");
}

bool splits_as(const LaunchCounts& launch, const Splitting& splitting) {
  return operands_read(launch) == 4 * NUMBERS && bytes_of(launch, AccessKind::global_store, "workspace") ==
                                                     splitting.bytes_of_terms() + splitting.bytes_of_scaling();
}

void expect_functions(const Splitting& of, const std::vector<LaunchCounts>& launches) {
  const std::string name(std::string_view(of.kernel).substr(3));
  const std::vector<std::string> expected{name + "_split_kernel", name + "_kernel"};
  ASSERT_EQ(launches.size(), expected.size());
  for (std::size_t i = 0; i < launches.size(); ++i) {
    EXPECT_EQ(launches[i].function.substr(0, expected[i].size()), expected[i]) << launches[i].function;
  }
}

/// It reads each number once and writes its terms.
void expect_splitting(const Splitting& of, const LaunchCounts& split) {
  EXPECT_EQ(operands_read(split), 4 * NUMBERS);
  EXPECT_EQ(bytes_of(split, AccessKind::global_store, "workspace"), of.bytes_of_terms() + of.bytes_of_scaling());
  EXPECT_EQ(bytes_of(split, AccessKind::global_store, "C"), 0);
  EXPECT_EQ(split.tensor_flops, 0U);
  EXPECT_EQ(split.blocks, static_cast<std::uint64_t>(of.split_blocks));
  for (const Splitting& other : {BF16X6, FP16X3, INT8X6}) {
    EXPECT_EQ(splits_as(split, other),
              other.terms == of.terms && other.k_tile == of.k_tile && other.term_bytes == of.term_bytes)
        << other;
  }
}

/// It copies the operand tiles of each tile of C.
void expect_product(const Splitting& of, const LaunchCounts& product) {
  const std::int64_t tiles_of_b = M / 128 * (N / 128);
  const std::int64_t tiles_of_a = of.is_wide ? M / 128 * ((N + 255) / 256) : tiles_of_b;
  const std::int64_t operand_tile =
      128 * of.k_tile * of.terms * of.term_bytes + (of.by_mma_sync ? 0 : of.copied_scaling);
  EXPECT_EQ(bytes_of(product, AccessKind::async_copy, "workspace"),
            (tiles_of_a + tiles_of_b) * of.k_tiles() * operand_tile);
  EXPECT_EQ(product.tensor_flops, static_cast<std::uint64_t>(2 * M * N * K * of.products));
  EXPECT_EQ(operands_read(product), 0);
  EXPECT_EQ(bytes_of(product, AccessKind::global_store, "C"), 4 * M * N);
}

/// An ldmatrix is four requests, of a matrix of 128 bytes each.
void expect_no_bank_conflicts(const LaunchCounts& product) {
  const auto of = [&](AccessKind kind) { return product.traffic[static_cast<std::size_t>(kind)]; };
  EXPECT_GT(of(AccessKind::shared_load).requests, 0U);
  EXPECT_EQ(of(AccessKind::shared_load).wavefronts, of(AccessKind::shared_load).requests);
  EXPECT_EQ(of(AccessKind::async_copy).wavefronts, 4 * of(AccessKind::async_copy).requests);
}

class CountedLaunches : public testing::TestWithParam<Splitting> {};

TEST_P(CountedLaunches, HaveTheCountsOfTheirPages) {
  if (!build_of(GetParam())) {
    GTEST_SKIP() << "this build has no " << GetParam() << " to count";
  }
  const std::vector<LaunchCounts> launches = count(GetParam());
  ASSERT_NO_FATAL_FAILURE(expect_functions(GetParam(), launches));
  expect_splitting(GetParam(), launches.front());
  expect_product(GetParam(), launches.back());
  if (GetParam().by_mma_sync) {
    expect_no_bank_conflicts(launches.back());
  }
}

INSTANTIATE_TEST_SUITE_P(Chapters, CountedLaunches, testing::Values(BF16X6, FP16X3, INT8X6, FP16X3_MMA, INT8X6_MMA),
                         [](const auto& info) { return test_name(info.param.kernel); });

constexpr std::int64_t LONG_LINES = 8;  // of each operand
constexpr std::int64_t CHUNK = 4096;    // of each line in a block's registers, and as much in shared memory
constexpr std::int64_t LONG_K = 2 * CHUNK + 128;

/// The block looks for the largest numbers, and reads those again that it has no room for.
TEST(LengthyCountedLongLines, AreReadTwiceAtTheirBeginning) {
  for (const Splitting& chapter : {INT8X6, FP16X3_MMA, INT8X6_MMA}) {
    if (!build_of(chapter)) {
      GTEST_SKIP() << "this build has no " << chapter << " to count";
    }
    SCOPED_TRACE(chapter.kernel);
    const std::vector<LaunchCounts> launches = count(chapter, LONG_LINES, LONG_LINES, LONG_K);
    ASSERT_EQ(launches.size(), 2U);
    const LaunchCounts& split = launches.front();
    EXPECT_EQ(split.blocks, 2U * 128 / 8) << "of two operand tiles";
    EXPECT_EQ(split.blocks_executed, split.blocks);
    EXPECT_EQ(operands_read(split), 2 * LONG_LINES * (LONG_K + CHUNK) * 4);
  }
}

}  // namespace
}  // namespace sgemm::test
