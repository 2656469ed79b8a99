// The executor itself: what threads ask of each other, and what it reports of kernels that do what no kernel may.

#include "launch.cuh"
#include "observed.hpp"
#include "simt/device_memory.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace simt::test {
namespace {

constexpr std::size_t SMEM_BYTES = 1024;

/// Of one block. `out` has an element for every thread.
template <class... Parameters, class... Arguments>
void run(void (*kernel)(Parameters...), int threads, Arguments... arguments) {
  launch(kernel, 1, dim3(static_cast<unsigned>(threads)), SMEM_BYTES, arguments...);
}

__global__ void exit_before_barrier_kernel(float* out, unsigned leaving) {
  if (threadIdx.x == leaving) {
    return;
  }
  __syncthreads();
  out[threadIdx.x] = 1.0F;
  __syncthreads();
}

__global__ void exit_before_shuffle_kernel(float* out) {
  if (threadIdx.x == 35) {
    return;
  }
  out[threadIdx.x] = __shfl_sync(0xFFFFFFFF, static_cast<float>(threadIdx.x), 0);
}

/// Blocks of 32 threads read dynamic shared memory and then start copies there that nobody waits for.
__global__ void leave_copy_kernel(const float* in, float* out) {
  float* const smem = dynamic_smem();
  commit_copies();
  wait_for_copies(0);
  out[blockIdx.x * 32 + threadIdx.x] = smem[threadIdx.x];
  copy_async(shared_address(smem + threadIdx.x), in + threadIdx.x, 4);
}

/// 70 threads, a last warp of six: the sum over the warp of the threads' numbers, by xor shuffles of 1, 2, 4, ...
__global__ void sum_lanes_kernel(float* out) {
  double sum = threadIdx.x;
  const unsigned first = threadIdx.x / 32 * 32;
  const unsigned lanes = 70 - first < 32 ? 70 - first : 32;
  const unsigned mask = lanes == 32 ? 0xFFFFFFFF : (1U << lanes) - 1;
  if (lanes == 32) {
    for (int step = 1; step < 32; step *= 2) {
      sum += __shfl_xor_sync(mask, sum, step);
    }
  } else {
    double total = 0.0;
    for (int source = 0; source < static_cast<int>(lanes); ++source) {
      total += __shfl_sync(mask, sum, source);
    }
    sum = total;
  }
  out[threadIdx.x] = static_cast<float>(sum);
}

/// 64 threads: the first warp passes its numbers to the second one by shared memory and a named barrier, while the rest
/// of 96 threads finish without it.
__global__ void pass_to_second_warp_kernel(float* out) {
  __shared__ float passed[32];
  const unsigned lane = threadIdx.x % 32;
  if (threadIdx.x >= 64) {
    out[threadIdx.x] = 0.0F;
    return;
  }
  if (threadIdx.x >= 32) {
    barrier(3, 64);
    out[threadIdx.x] = passed[31 - lane];
  } else {
    passed[lane] = static_cast<float>(lane);
    barrier(3, 64);
    out[threadIdx.x] = 0.0F;
  }
}

/// 32 threads copy `in` in two groups of cp.async, and read after waiting for the first. out[thread] is from the first
/// group, out[32 + thread] from the second, which has not arrived, and out[64 + thread] from it after its wait.
__global__ void read_before_wait_kernel(const float* in, float* out) {
  float* const smem = dynamic_smem();
  const unsigned thread = threadIdx.x;
  copy_async(shared_address(smem + thread), in + thread, 4);
  commit_copies();
  copy_async(shared_address(smem + 32 + thread), in + 32 + thread, 4);
  commit_copies();
  wait_for_copies(1);
  out[thread] = smem[thread];
  out[32 + thread] = smem[32 + thread];
  wait_for_copies(0);
  out[64 + thread] = smem[32 + thread];
}

// ---- Clusters ----

constexpr int CLUSTER_THREADS = 64;

void run_clusters(void (*kernel)(float*, int), float* out, int blocks, int cluster) {
  cudaLaunchAttribute clusters{};
  clusters.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(CLUSTER_THREADS);
  config.dynamicSmemBytes = CLUSTER_THREADS * sizeof(float4);
  config.attrs = &clusters;
  config.numAttrs = 1;
  if (const cudaError_t error = cudaLaunchKernelEx(&config, kernel, out, cluster); error != cudaSuccess) {
    throw std::runtime_error(cudaGetErrorName(error));
  }
}

/// The sum of what all blocks of the cluster have in shared memory, each its own number + 1, by one load from each.
__global__ void sum_kernel(float* out, int cluster) {
  float4* const values = reinterpret_cast<float4*>(dynamic_smem());
  values[threadIdx.x].x = static_cast<float>(blockIdx.x + 1);
  cluster_barrier();
  float sum = 0.0F;
  for (int rank = 0; rank < cluster; ++rank) {
    sum += load_four_in_cluster(shared_address(values + threadIdx.x), static_cast<unsigned>(rank))[0];
  }
  cluster_barrier();
  values[threadIdx.x].x = -1.0F;  // nobody may see it
  out[blockIdx.x * CLUSTER_THREADS + threadIdx.x] = sum;
}

// ---- Tests ----

std::vector<float> threads(std::size_t count) { return std::vector<float>(count, -1.0F); }

/// The message of the Error that a block of the kernel ends with.
std::string error_of(void (*kernel)(float*), int count) {
  std::vector<float> out = threads(2048);
  return message_of([&] { run(kernel, count, out.data()); });
}

TEST(Executor, MistakesAreNamed) {
  struct Mistake {
    void (*kernel)(float*);
    int threads;
    std::vector<std::string> parts;
  };
  for (const auto& [kernel, count, parts] : std::vector<Mistake>{
           {[](float*) { barrier(threadIdx.x < 64 ? 1 : 2, 128); },
            128,
            {"executor_test.cu:", "barrier 1, which 64 of 128 threads reach", "thread (64,0,0) waits at ",
             "<lambda(float*)>"}},
           {[](float*) { barrier(1, threadIdx.x < 64 ? 128 : 64); },
            128,
            {"block (0,0,0), thread (64,0,0)", "barrier 1 is for 64 threads here and for 128 in thread (0,0,0)"}},
           {[](float*) { barrier(16, 64); }, 64, {"from 0 to 15", "16 and 64"}},
           {[](float*) { barrier(1, 48); }, 128, {"multiple of 32", "1 and 48"}},
           {exit_before_shuffle_kernel,
            64,
            {"thread (32,0,0)", "warp-level operation", "thread (35,0,0) has finished"}},
           {[](float*) {
              if (threadIdx.x < 3) {
                __syncwarp(threadIdx.x == 0 ? 0x3 : 0x7);
              }
            },
            32,
            {"thread (0,0,0)", "warp-level operation", "thread (1,0,0) waits at ", "<lambda(float*)>"}},
           {[](float*) {
              if (threadIdx.x >= 16 && threadIdx.x != 20) {
                __syncwarp(0xFFFF0000);
              }
            },
            32,
            {"thread (16,0,0)", "thread (20,0,0) has finished"}},
           {[](float* out) {  // when all others have finished
              if (threadIdx.x == 31) {
                copy_async(shared_address(dynamic_smem() + 1), out, 16);
              }
            },
            32,
            {"thread (31,0,0)", "aligned"}},
           {[](float*) { __shfl_sync(0xFFFF, 1.0F, 16); }, 16, {"thread (0,0,0)", "a shuffle reads lane 16"}},
           {[](float*) { __syncwarp(0xFFFFFFFE); }, 32, {"thread (0,0,0)", "leaves out the lane that calls it"}},
           {[](float* out) { copy_async(shared_address(dynamic_smem() + 1), out, 16); },
            32,
            {"thread (0,0,0)", "16 bytes", "aligned"}},
           {[](float* out) {
              const std::size_t past_a_multiple = reinterpret_cast<std::uintptr_t>(out) % 16 == 0 ? 1 : 0;
              copy_async(shared_address(dynamic_smem()), out + past_a_multiple, 16);
            },
            32,
            {"thread (0,0,0)", "16 bytes", "aligned"}}}) {
    expect_parts(error_of(kernel, count), parts);
  }
  const auto error_of_clusters = [](void (*kernel)(float*, int), int size) {
    std::vector<float> out = threads(2048);
    return message_of([&] { run_clusters(kernel, out.data(), size, size); });
  };
  const auto half_waits = [](float*, int) {
    if (blockIdx.x % 2 == 1) {
      cluster_barrier();
    }
  };
  const auto beyond = [](float*, int cluster) { load_four_in_cluster(0, static_cast<unsigned>(cluster)); };
  const auto misaligned = [](float*, int) { load_four_in_cluster(4, 0); };
  const std::string place = "<lambda(float*, int)>";
  expect_parts(error_of_clusters(half_waits, 2), {"barrier of the cluster", "another block of it has ended", place});
  expect_parts(error_of_clusters(beyond, 2), {"shared address 0 of the cluster's block 2", place});
  expect_parts(error_of_clusters(misaligned, 1), {"aligned to 16 bytes", place});
}

TEST(Executor, TheBlocksBarrierIsOneOfThoseThatHaveNotEnded) {
  for (const unsigned first : {0U, 255U, 100U}) {
    std::vector<float> out = threads(256);
    run(exit_before_barrier_kernel, 256, out.data(), first);
    for (unsigned thread = 0; thread < 256; ++thread) {
      EXPECT_EQ(out[thread], thread == first ? -1.0F : 1.0F) << thread;
    }
  }
}

TEST(Executor, SharedMemoryAlignedToMoreThanAPage) {
  float misses = -1.0F;
  const auto kernel = [](float* out) {
    __shared__ __align__(16384) float values[32];
    auto address = reinterpret_cast<std::uintptr_t>(values);
    asm volatile("" : "+r"(address));  // the compiler would take the alignment for granted
    *out = static_cast<float>(address % 16384);
  };
  run(+kernel, 1, &misses);
  EXPECT_EQ(misses, 0.0F);
}

TEST(Executor, CopiesThatNobodyWaitsForEndWithTheirBlock) {
  constexpr std::size_t BLOCKS = 64;
  const std::vector<float> in(32, 1.0F);
  std::vector<float> out = threads(BLOCKS * 32);
  launch(leave_copy_kernel, BLOCKS, dim3(32), SMEM_BYTES, in.data(), out.data());
  for (const float value : out) {
    EXPECT_TRUE(std::isnan(value));
  }
}

TEST(Executor, WhatIsNotModelledIsNamed) {
  const auto kernel = [] { not_supported("thread block clusters"); };
  expect_parts(message_of<NotSupported>([&] { run(+kernel, 32); }), {"thread block clusters"});
}

TEST(Executor, BlocksOfAClusterReadWhatTheOthersHave) {
  for (const int cluster : {1, 2, 3, 8}) {  // more than there are processors
    constexpr int CLUSTERS = 5;
    constexpr int THREADS = 64;
    const int blocks = CLUSTERS * cluster;
    std::vector<float> out = threads(static_cast<std::size_t>(blocks * THREADS));
    run_clusters(sum_kernel, out.data(), blocks, cluster);
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

TEST(Executor, LaunchesThatNoDeviceTakes) {
  const auto nothing = [] {};
  EXPECT_THROW(run(+nothing, 1025), std::runtime_error);
  EXPECT_THROW(launch(+nothing, 1, dim3(1, 1, 65), SMEM_BYTES), std::runtime_error);
  std::vector<float> out = threads(2048);
  EXPECT_THROW(run_clusters(sum_kernel, out.data(), 5, 2), std::runtime_error);
  EXPECT_THROW(run_clusters(sum_kernel, out.data(), 9, 9), std::runtime_error);
}

TEST(Executor, NamedBarriersOrderTheirThreadsAloneAlsoAfterErrors) {
  for (int repetition = 0; repetition < 3; ++repetition) {
    EXPECT_NE(error_of(exit_before_shuffle_kernel, 64), "");
    std::vector<float> out = threads(96);
    run(pass_to_second_warp_kernel, 96, out.data());
    for (std::size_t lane = 0; lane < 32; ++lane) {
      EXPECT_EQ(out[32 + lane], static_cast<float>(31 - lane));
    }
  }
}

TEST(Executor, ShufflesOfWholeAndPartialWarps) {
  std::vector<float> out = threads(70);
  run(sum_lanes_kernel, 70, out.data());
  EXPECT_EQ(out[0], 31.0F * 32.0F / 2.0F);
  EXPECT_EQ(out[63], 31.0F * 32.0F / 2.0F + 32.0F * 32.0F);
  EXPECT_EQ(out[69], 64.0F + 65.0F + 66.0F + 67.0F + 68.0F + 69.0F);
}

TEST(Executor, CopiesArriveWithTheirWaitAndNotBefore) {
  std::vector<float> in(64);
  std::iota(in.begin(), in.end(), 0.0F);
  std::vector<float> out = threads(96);
  run(read_before_wait_kernel, 32, in.data(), out.data());
  for (std::size_t thread = 0; thread < 32; ++thread) {
    EXPECT_EQ(out[thread], in[thread]);
    EXPECT_TRUE(std::isnan(out[32 + thread]));
    EXPECT_EQ(out[64 + thread], in[32 + thread]);
  }
}

TEST(Executor, DynamicSharedMemoryStartsAsNan) {
  std::vector<float> in(64, 1.0F);
  std::vector<float> out = threads(96);
  run(read_before_wait_kernel, 32, in.data(), out.data());  // leaves something there
  run(
      +[](float* values) { values[threadIdx.x] = dynamic_smem()[threadIdx.x]; }, 32, out.data());
  for (std::size_t thread = 0; thread < 32; ++thread) {
    EXPECT_TRUE(std::isnan(out[thread]));
  }
}

TEST(Executor, RunsEveryThreadOfEveryBlockOnce) {
  struct Tally {
    std::atomic<int> threads = 0;
  } tally;
  const Launch launch{{5, 3, 2},
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
  const std::size_t before = allocations().size();
  std::atomic<int> lost = 0;
  {
    std::vector<std::jthread> threads(THREADS);
    for (std::jthread& thread : threads) {
      thread = std::jthread([&] {
        for (int round = 0; round < ROUNDS; ++round) {
          void* const first = allocate(8);
          void* const second = allocate(8);
          lost += release(first) ? 0 : 1;
          lost += release(second) ? 0 : 1;
        }
      });
    }
  }
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(allocations().size(), before);
}

TEST(Executor, StopsBetweenBlocks) {
  static std::atomic<int> asked;
  asked = 0;
  stop_when([] { return ++asked > 10; });
  EXPECT_THROW(simt::run({{1000, 1, 1}, {32, 1, 1}, 0, [](const void*) {}, nullptr}), Stopped);
  stop_when(nullptr);
  EXPECT_LT(asked, 100);
}

}  // namespace
}  // namespace simt::test
