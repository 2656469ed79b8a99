#pragma once

// Products of matrices that are counted, and what their counts have to agree in.

#include "observed.hpp"

#include "simt/gpu_models.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace simt::test {

using simt::LaunchCounts;

constexpr simt::CountingLimits WHOLE{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
                                     8};
/// Whole only where the blocks can not be predicted.
constexpr simt::CountingLimits SAMPLED{0.0, std::numeric_limits<double>::infinity(), 8};
constexpr simt::CountingLimits NEVER_WHOLE{0.0, 0.0, 8};

/// The matrices of a product A * B = C of so many rows, columns and steps, row-major without gaps, and how it is
/// counted.
class CountedMatrices {
 public:
  CountedMatrices(std::int64_t m, std::int64_t n, std::int64_t k)
      : a_(static_cast<std::size_t>(m * k), 0.5F),
        b_(static_cast<std::size_t>(k * n), 0.25F),
        c_(static_cast<std::size_t>(m * n), 0.0F),
        arrays_{{simt::input("A", a_.data(), {m, k, k}), 0, 1},
                {simt::input("B", b_.data(), {k, n, n}), 0, 1},
                {simt::in_out("C", c_.data(), {m, n, n}), 0, 1}} {}

  float* a() { return a_.data(); }
  float* b() { return b_.data(); }
  float* c() { return c_.data(); }

  std::vector<LaunchCounts> count(const std::function<void()>& launch, const simt::CountingLimits& limits,
                                  std::optional<simt::TracedWarp> traced = std::nullopt) const {
    simt::Counting counting(arrays_, l1_bytes, limits, traced);
    launch();
    return counting.take();
  }

 private:
  GuardedArray a_;
  GuardedArray b_;
  GuardedArray c_;
  std::vector<simt::CountedArray> arrays_;
};

inline std::vector<std::string> lines_of(const LaunchCounts& counts) {
  std::vector<std::string> lines;
  for (const simt::LineCounts& line : counts.lines) {
    lines.push_back(line.file + ':' + std::to_string(line.line) + ' ' + line.array + ' ' +
                    std::to_string(line.traffic.requests) + ' ' + std::to_string(line.traffic.sectors) + ' ' +
                    std::to_string(line.traffic.wavefronts) + ' ' + std::to_string(line.flops));
  }
  return lines;
}

/// All but the order of the blocks' accesses, which the model of the L2 shows.
inline void expect_same(const LaunchCounts& counts, const LaunchCounts& whole) {
  EXPECT_EQ(counts.blocks, whole.blocks);
  EXPECT_EQ(counts.traffic, whole.traffic);
  EXPECT_EQ(counts.flops, whole.flops);
  EXPECT_EQ(counts.barriers, whole.barriers);
  EXPECT_EQ(counts.tensor_flops, whole.tensor_flops);
  EXPECT_EQ(counts.smem_bytes, whole.smem_bytes);
  EXPECT_EQ(counts.bytes_read, whole.bytes_read);
  EXPECT_EQ(lines_of(counts), lines_of(whole));
  for (const std::uint64_t blocks : {std::uint64_t{1}, std::uint64_t{5}, whole.blocks}) {
    EXPECT_EQ(counts.elements_read_by_first(blocks), whole.elements_read_by_first(blocks));
  }
  simt::GpuModel gpu = *simt::find_gpu_model("h200");
  gpu.sms = 3;
  gpu.l2_bytes = std::uint64_t{64} * 1024;
  const auto replayed = [&](const LaunchCounts& launch) {
    const simt::PlacedLaunch placed{launch.placed, {0, 1U << 20U, 1U << 21U, 1U << 22U}, 2};
    const simt::L2Traffic l2 = simt::replay({&placed, 1}, simt::Turns::in_turn, gpu).front();
    return std::vector<std::uint64_t>{l2.read_sectors, l2.read_hits, l2.written_sectors, l2.dram_read_bytes,
                                      l2.dram_written_bytes};
  };
  EXPECT_EQ(replayed(counts), replayed(whole));
}

}  // namespace simt::test
