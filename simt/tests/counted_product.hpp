#pragma once

// Products of matrices that are counted, and what their counts have to agree in.

#include "guarded_array.hpp"

#include "common/problem.hpp"
#include "simt/counter.hpp"
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

namespace sgemm::test {

using simt::LaunchCounts;

constexpr std::size_t L1_BYTES = std::size_t{32} * 1024;
inline std::size_t l1_bytes(std::size_t, unsigned) { return L1_BYTES; }

constexpr simt::CountingLimits WHOLE{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
                                     8};
/// Whole only where the blocks can not be predicted.
constexpr simt::CountingLimits SAMPLED{0.0, std::numeric_limits<double>::infinity(), 8};
constexpr simt::CountingLimits NEVER_WHOLE{0.0, 0.0, 8};

/// A product of so many rows, columns and steps, and how it is counted.
class CountedProduct {
 public:
  CountedProduct(std::int64_t m, std::int64_t n, std::int64_t k, float beta = 0.0F)
      : a_(static_cast<std::size_t>(m * k), 0.5F),
        b_(static_cast<std::size_t>(k * n), 0.25F),
        c_(static_cast<std::size_t>(m * n), 0.0F) {
    problem_ = {{m, n, k, 1.5F, beta}, a_.data(), k, b_.data(), n, c_.data(), n};
  }

  /// Those of the first launch.
  LaunchCounts count(const std::function<void(const Problem&)>& launch, const simt::CountingLimits& limits,
                     std::optional<simt::TracedWarp> traced = std::nullopt) {
    return std::move(count_all(launch, limits, traced).front());
  }
  std::vector<LaunchCounts> count_all(const std::function<void(const Problem&)>& launch,
                                      const simt::CountingLimits& limits,
                                      std::optional<simt::TracedWarp> traced = std::nullopt) {
    std::vector<simt::CountedArray> arrays;
    const auto add = [&](const char* name, const float* begin, std::int64_t rows, std::int64_t columns, bool writable) {
      const auto row_bytes = static_cast<std::size_t>(columns) * sizeof(float);
      arrays.push_back({{name, begin, static_cast<std::size_t>(rows), row_bytes, row_bytes, writable}, 0, 1});
    };
    add("A", problem_.a, problem_.m, problem_.k, false);
    add("B", problem_.b, problem_.k, problem_.n, false);
    add("C", problem_.c, problem_.m, problem_.n, true);
    simt::Counting counting(std::move(arrays), l1_bytes, limits, traced);
    launch(problem_);
    return counting.take();
  }
  const Problem& problem() const { return problem_; }

 private:
  GuardedArray a_;
  GuardedArray b_;
  GuardedArray c_;
  Problem problem_;
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
    const simt::L2Traffic l2 =
        simt::replay({launch.placed, {0, 1U << 20U, 1U << 21U, 1U << 22U}, 2}, simt::Turns::in_turn, gpu);
    return std::vector<std::uint64_t>{l2.read_sectors, l2.read_hits, l2.written_sectors, l2.dram_read_bytes,
                                      l2.dram_written_bytes};
  };
  EXPECT_EQ(replayed(counts), replayed(whole));
}

}  // namespace sgemm::test
