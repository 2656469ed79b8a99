// The executor itself: what threads ask of each other, and what it reports of kernels that do what no kernel may.

#include "simt/executor.hpp"
#include "simt/device_memory.hpp"

#include "clusters.hpp"
#include "complaint.hpp"
#include "single_block.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace simt::test {
namespace {

std::vector<float> threads(std::size_t count) { return std::vector<float>(count, -1.0F); }

/// The message of the simt::Error that `kernel` ends with.
std::string error_of(void (*kernel)(float*)) {
  std::vector<float> out = threads(2048);
  return message_of([&] { kernel(out.data()); });
}

TEST(Executor, MistakesAreNamed) {
  for (const auto& [kernel, parts] : std::vector<std::pair<void (*)(float*), std::vector<std::string>>>{
           {exit_before_barrier,
            {"block (0,0,0), thread (0,0,0)", "single_block.cu:", "exit_before_barrier_kernel",
             "barrier 0, which 255 of 256 threads reach", "thread (255,0,0) has finished"}},
           {wait_at_different_barriers,
            {"single_block.cu:", "barrier 1, which 64 of 128 threads reach", "thread (64,0,0) waits at ",
             "different_barriers_kernel"}},
           {disagree_about_barrier,
            {"block (0,0,0), thread (64,0,0)", "barrier 1 is for 64 threads here and for 128 in thread (0,0,0)"}},
           {barrier_16, {"from 0 to 15", "16 and 64"}},
           {odd_barrier, {"multiple of 32", "1 and 48"}},
           {exit_before_shuffle, {"thread (32,0,0)", "warp-level operation", "thread (35,0,0) has finished"}},
           {meet_with_different_masks,
            {"thread (0,0,0)", "warp-level operation", "thread (1,0,0) waits at ", "different_masks_kernel"}},
           {exit_before_half_warp, {"thread (16,0,0)", "thread (20,0,0) has finished"}},
           {fail_last, {"thread (31,0,0)", "aligned"}},
           {shuffle_from_outside, {"thread (0,0,0)", "a shuffle reads lane 16"}},
           {mask_without_caller, {"thread (0,0,0)", "leaves out the lane that calls it"}},
           {misaligned_copy, {"thread (0,0,0)", "16 bytes", "aligned"}},
           {misaligned_source, {"thread (0,0,0)", "16 bytes", "aligned"}},
           {leave_cluster, {"barrier of the cluster", "another block of it has ended", "leaving_kernel"}},
           {read_beyond_cluster, {"shared address 0 of the cluster's block 2", "beyond_kernel"}},
           {read_misaligned, {"aligned to 16 bytes", "misaligned_kernel"}}}) {
    expect_parts(error_of(kernel), parts);
  }
}

TEST(Executor, SharedMemoryAlignedToMoreThanAPage) {
  float misses = -1.0F;
  align_to_four_pages(&misses);
  EXPECT_EQ(misses, 0.0F);
}

TEST(Executor, CopiesThatNobodyWaitsForEndWithTheirBlock) {
  constexpr std::size_t BLOCKS = 64;
  const std::vector<float> in(32, 1.0F);
  std::vector<float> out = threads(BLOCKS * 32);
  leave_copies(in.data(), out.data(), BLOCKS);
  for (const float value : out) {
    EXPECT_TRUE(std::isnan(value));
  }
}

TEST(Executor, WhatIsNotModelledIsNamed) {
  std::vector<float> out = threads(32);
  try {
    unmodelled(out.data());
    FAIL() << "it returned";
  } catch (const simt::NotSupported& error) {
    expect_parts(error.what(), {"thread block clusters"});
  }
}

TEST(Executor, BlocksOfAClusterReadWhatTheOthersHave) {
  for (const int cluster : {1, 2, 3, 8}) {  // more than there are processors
    constexpr int CLUSTERS = 5;
    constexpr int THREADS = 64;
    const int blocks = CLUSTERS * cluster;
    std::vector<float> out = threads(static_cast<std::size_t>(blocks * THREADS));
    sum_clusters(out.data(), blocks, cluster);
    for (int block = 0; block < blocks; ++block) {
      const int first = block / cluster * cluster + 1;
      const int sum = cluster * first + cluster * (cluster - 1) / 2;
      for (int thread = 0; thread < THREADS; ++thread) {
        ASSERT_EQ(out[static_cast<std::size_t>(block * THREADS + thread)], static_cast<float>(sum))
            << "cluster of " << cluster << ", block " << block << ", thread " << thread;
      }
    }
  }
}

TEST(Executor, ClustersThatNoDeviceTakes) {
  std::vector<float> out = threads(2048);
  EXPECT_THROW(sum_clusters(out.data(), 5, 2), std::runtime_error);
  EXPECT_THROW(sum_clusters(out.data(), 9, 9), std::runtime_error);
}

TEST(Executor, LaunchThatNoDeviceTakes) {
  std::vector<float> out = threads(2048);
  EXPECT_THROW(too_many_threads(out.data()), std::runtime_error);
  EXPECT_THROW(too_many_layers(out.data()), std::runtime_error);
}

TEST(Executor, WorksAfterErrors) {
  for (int repetition = 0; repetition < 3; ++repetition) {
    EXPECT_NE(error_of(exit_before_barrier), "");
    EXPECT_NE(error_of(exit_before_shuffle), "");
    std::vector<float> out = threads(96);
    pass_to_second_warp(out.data());
    EXPECT_EQ(out[32], 31.0F);
  }
}

TEST(Executor, ShufflesWithinGroups) {
  std::vector<float> out = threads(96);
  rotate_half_warps(out.data(), 3);
  for (std::size_t thread = 0; thread < out.size(); ++thread) {
    EXPECT_EQ(out[thread], static_cast<float>(thread - thread % 16 + (thread + 3) % 16)) << thread;
  }
}

TEST(Executor, ShufflesOfWholeAndPartialWarps) {
  std::vector<float> out = threads(70);
  sum_lanes(out.data());
  EXPECT_EQ(out[0], 31.0F * 32.0F / 2.0F);
  EXPECT_EQ(out[63], 31.0F * 32.0F / 2.0F + 32.0F * 32.0F);
  EXPECT_EQ(out[69], 64.0F + 65.0F + 66.0F + 67.0F + 68.0F + 69.0F);
}

TEST(Executor, NamedBarrierOrdersItsThreadsAlone) {
  std::vector<float> out = threads(96);
  pass_to_second_warp(out.data());
  for (std::size_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(out[32 + lane], static_cast<float>(31 - lane));
  }
}

TEST(Executor, CopiesArriveWithTheirWaitAndNotBefore) {
  std::vector<float> in(64);
  std::iota(in.begin(), in.end(), 0.0F);
  std::vector<float> out = threads(96);
  read_before_wait(in.data(), out.data());
  for (std::size_t thread = 0; thread < 32; ++thread) {
    EXPECT_EQ(out[thread], in[thread]);
    EXPECT_TRUE(std::isnan(out[32 + thread]));
    EXPECT_EQ(out[64 + thread], in[32 + thread]);
  }
}

TEST(Executor, DynamicSharedMemoryStartsAsNan) {
  std::vector<float> in(64, 1.0F);
  std::vector<float> out = threads(96);
  read_before_wait(in.data(), out.data());  // leaves something there
  read_uninitialised(out.data());
  for (std::size_t thread = 0; thread < 32; ++thread) {
    EXPECT_TRUE(std::isnan(out[thread]));
  }
}

TEST(Executor, RunsEveryThreadOfEveryBlockOnce) {
  struct Tally {
    std::atomic<int> threads = 0;
  } tally;
  const simt::Launch launch{{5, 3, 2},
                            {4, 2, 3},
                            0,
                            [](const void* of) { ++const_cast<Tally*>(static_cast<const Tally*>(of))->threads; },
                            &tally};
  simt::run(launch);
  EXPECT_EQ(tally.threads, 5 * 3 * 2 * 4 * 2 * 3);
}

TEST(DeviceMemory, HostThreadsAllocateAndReleaseAtOnce) {
  constexpr int THREADS = 4;
  constexpr int ROUNDS = 5000;
  const std::size_t before = simt::allocations().size();
  std::atomic<int> lost = 0;
  {
    std::vector<std::jthread> threads(THREADS);
    for (std::jthread& thread : threads) {
      thread = std::jthread([&] {
        for (int round = 0; round < ROUNDS; ++round) {
          void* const first = simt::allocate(8);
          void* const second = simt::allocate(8);
          lost += simt::release(first) ? 0 : 1;
          lost += simt::release(second) ? 0 : 1;
        }
      });
    }
  }
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(simt::allocations().size(), before);
}

TEST(Executor, StopsBetweenBlocks) {
  static std::atomic<int> asked;
  asked = 0;
  simt::stop_when([] { return ++asked > 10; });
  EXPECT_THROW(simt::run({{1000, 1, 1}, {32, 1, 1}, 0, [](const void*) {}, nullptr}), simt::Stopped);
  simt::stop_when(nullptr);
  EXPECT_LT(asked, 100);
}

}  // namespace
}  // namespace simt::test
