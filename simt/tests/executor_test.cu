// The executor itself: what threads ask of each other, and what it reports of kernels that do what no kernel may.

#include "complaint.hpp"
#include "instructions.cuh"
#include "launch.cuh"
#include "simt/device_memory.hpp"
#include "simt/executor.hpp"

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
  launch(kernel, 1, dim3(static_cast<unsigned>(threads)), SMEM_BYTES, nullptr, arguments...);
}

__global__ void exit_before_barrier_kernel(float* out, unsigned leaving) {
  if (threadIdx.x == leaving) {
    return;
  }
  __syncthreads();
  out[threadIdx.x] = 1.0F;
  __syncthreads();
}

__global__ void different_barriers_kernel(float* out) {
  bar_sync(threadIdx.x < 64 ? 1 : 2, 128);
  out[threadIdx.x] = 1.0F;
}

__global__ void disagreement_kernel(float* out) {
  bar_sync(1, threadIdx.x < 64 ? 128 : 64);
  out[threadIdx.x] = 1.0F;
}

__global__ void odd_barrier_kernel(float* out) {
  bar_sync(1, 48);
  out[threadIdx.x] = 1.0F;
}

__global__ void exit_before_shuffle_kernel(float* out) {
  if (threadIdx.x == 35) {
    return;
  }
  out[threadIdx.x] = __shfl_sync(0xFFFFFFFF, static_cast<float>(threadIdx.x), 0);
}

/// 32 threads, of which the last does a misaligned copy when all others have finished.
__global__ void fail_last_kernel(float* out) {
  out[threadIdx.x] = 1.0F;
  if (threadIdx.x == 31) {
    cp_async<16>(shared_address(dynamic_smem() + 1), out);
  }
}

__global__ void different_masks_kernel(float* out) {
  if (threadIdx.x < 3) {
    __syncwarp(threadIdx.x == 0 ? 0x3 : 0x7);
  }
  out[threadIdx.x] = 1.0F;
}

__global__ void exit_before_half_warp_kernel(float* out) {
  if (threadIdx.x == 3 || threadIdx.x == 20) {
    return;
  }
  if (threadIdx.x >= 16) {
    __syncwarp(0xFFFF0000);
  }
  out[threadIdx.x] = 1.0F;
}

/// Blocks of 32 threads read dynamic shared memory and then start copies there that nobody waits for.
__global__ void leave_copy_kernel(const float* in, float* out) {
  float* const smem = dynamic_smem();
  cp_async_commit_group();
  cp_async_wait_group<0>();
  out[blockIdx.x * 32 + threadIdx.x] = smem[threadIdx.x];
  cp_async<4>(shared_address(smem + threadIdx.x), in + threadIdx.x);
}

__global__ void unmodelled_kernel(float*) { simt::not_supported("thread block clusters"); }

/// A thread stores by how many bytes a shared variable misses the multiple of 16384 that it is to be aligned to.
__global__ void aligned_kernel(float* out) {
  __shared__ __align__(16384) float values[32];
  auto address = reinterpret_cast<std::uintptr_t>(values);
  asm volatile("" : "+r"(address));  // the compiler would take the alignment for granted
  *out = static_cast<float>(address % 16384);
}

__global__ void ones_kernel(float* out) { out[threadIdx.x] = 1.0F; }

__global__ void misaligned_copy_kernel(float* out) { cp_async<16>(shared_address(dynamic_smem() + 1), out); }

__global__ void misaligned_source_kernel(float* out) {
  const std::size_t past_a_multiple = reinterpret_cast<std::uintptr_t>(out) % 16 == 0 ? 1 : 0;
  cp_async<16>(shared_address(dynamic_smem()), out + past_a_multiple);
}

__global__ void barrier_16_kernel(float* out) {
  bar_sync(16, 64);
  out[threadIdx.x] = 1.0F;
}

__global__ void shuffle_from_outside_kernel(float* out) {
  if (threadIdx.x < 16) {
    out[threadIdx.x] = __shfl_sync(0xFFFF, 1.0F, 16);
  }
}

__global__ void mask_without_caller_kernel(float* out) {
  __syncwarp(0xFFFFFFFE);
  out[threadIdx.x] = 1.0F;
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
    bar_sync(3, 64);
    out[threadIdx.x] = passed[31 - lane];
  } else {
    passed[lane] = static_cast<float>(lane);
    bar_sync(3, 64);
    out[threadIdx.x] = 0.0F;
  }
}

/// 32 threads copy `in` in two groups of cp.async, and read after waiting for the first. out[thread] is from the first
/// group, out[32 + thread] from the second, which has not arrived, and out[64 + thread] from it after its wait.
__global__ void read_before_wait_kernel(const float* in, float* out) {
  float* const smem = dynamic_smem();
  const unsigned thread = threadIdx.x;
  cp_async<4>(shared_address(smem + thread), in + thread);
  cp_async_commit_group();
  cp_async<4>(shared_address(smem + 32 + thread), in + 32 + thread);
  cp_async_commit_group();
  cp_async_wait_group<1>();
  out[thread] = smem[thread];
  out[32 + thread] = smem[32 + thread];
  cp_async_wait_group<0>();
  out[64 + thread] = smem[32 + thread];
}

__global__ void read_uninitialised_kernel(float* out) { out[threadIdx.x] = dynamic_smem()[threadIdx.x]; }

// ---- Clusters ----

constexpr int CLUSTER_THREADS = 64;

void cluster_sync(Site site = Site::current()) { cluster_barrier(site); }

float load_first(unsigned address, unsigned rank, Site site = Site::current()) {
  return load_four_in_cluster(address, rank, site)[0];
}

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
  cluster_sync();
  float sum = 0.0F;
  for (int rank = 0; rank < cluster; ++rank) {
    sum += load_first(shared_address(values + threadIdx.x), static_cast<unsigned>(rank));
  }
  cluster_sync();
  values[threadIdx.x].x = -1.0F;  // nobody may see it
  out[blockIdx.x * CLUSTER_THREADS + threadIdx.x] = sum;
}

/// The blocks of even rank end, and those of odd rank wait for them.
__global__ void leaving_kernel(float* out, int) {
  if (blockIdx.x % 2 == 1) {
    cluster_sync();
  }
  *out = 1.0F;
}

__global__ void beyond_kernel(float* out, int cluster) {
  cluster_sync();
  *out = load_first(0, static_cast<unsigned>(cluster));
}

__global__ void misaligned_kernel(float* out, int) {
  cluster_sync();
  *out = load_first(4, 0);
}

// ---- Tests ----

std::vector<float> threads(std::size_t count) { return std::vector<float>(count, -1.0F); }

/// The message of the simt::Error that a block of the kernel ends with.
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
           {different_barriers_kernel,
            128,
            {"executor_test.cu:", "barrier 1, which 64 of 128 threads reach", "thread (64,0,0) waits at ",
             "different_barriers_kernel"}},
           {disagreement_kernel,
            128,
            {"block (0,0,0), thread (64,0,0)", "barrier 1 is for 64 threads here and for 128 in thread (0,0,0)"}},
           {barrier_16_kernel, 64, {"from 0 to 15", "16 and 64"}},
           {odd_barrier_kernel, 128, {"multiple of 32", "1 and 48"}},
           {exit_before_shuffle_kernel,
            64,
            {"thread (32,0,0)", "warp-level operation", "thread (35,0,0) has finished"}},
           {different_masks_kernel,
            32,
            {"thread (0,0,0)", "warp-level operation", "thread (1,0,0) waits at ", "different_masks_kernel"}},
           {exit_before_half_warp_kernel, 32, {"thread (16,0,0)", "thread (20,0,0) has finished"}},
           {fail_last_kernel, 32, {"thread (31,0,0)", "aligned"}},
           {shuffle_from_outside_kernel, 32, {"thread (0,0,0)", "a shuffle reads lane 16"}},
           {mask_without_caller_kernel, 32, {"thread (0,0,0)", "leaves out the lane that calls it"}},
           {misaligned_copy_kernel, 32, {"thread (0,0,0)", "16 bytes", "aligned"}},
           {misaligned_source_kernel, 32, {"thread (0,0,0)", "16 bytes", "aligned"}}}) {
    expect_parts(error_of(kernel, count), parts);
  }
  const auto error_of_clusters = [](void (*kernel)(float*, int), int size) {
    std::vector<float> out = threads(2048);
    return message_of([&] { run_clusters(kernel, out.data(), size, size); });
  };
  expect_parts(error_of_clusters(leaving_kernel, 2),
               {"barrier of the cluster", "another block of it has ended", "leaving_kernel"});
  expect_parts(error_of_clusters(beyond_kernel, 2), {"shared address 0 of the cluster's block 2", "beyond_kernel"});
  expect_parts(error_of_clusters(misaligned_kernel, 1), {"aligned to 16 bytes", "misaligned_kernel"});
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
  run(aligned_kernel, 1, &misses);
  EXPECT_EQ(misses, 0.0F);
}

TEST(Executor, CopiesThatNobodyWaitsForEndWithTheirBlock) {
  constexpr std::size_t BLOCKS = 64;
  const std::vector<float> in(32, 1.0F);
  std::vector<float> out = threads(BLOCKS * 32);
  launch(leave_copy_kernel, BLOCKS, dim3(32), SMEM_BYTES, nullptr, in.data(), out.data());
  for (const float value : out) {
    EXPECT_TRUE(std::isnan(value));
  }
}

TEST(Executor, WhatIsNotModelledIsNamed) {
  std::vector<float> out = threads(32);
  try {
    run(unmodelled_kernel, 32, out.data());
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

TEST(Executor, ClustersThatNoDeviceTakes) {
  std::vector<float> out = threads(2048);
  EXPECT_THROW(run_clusters(sum_kernel, out.data(), 5, 2), std::runtime_error);
  EXPECT_THROW(run_clusters(sum_kernel, out.data(), 9, 9), std::runtime_error);
}

TEST(Executor, LaunchThatNoDeviceTakes) {
  std::vector<float> out = threads(2048);
  EXPECT_THROW(run(ones_kernel, 1025, out.data()), std::runtime_error);
  EXPECT_THROW(launch(ones_kernel, 1, dim3(1, 1, 65), SMEM_BYTES, nullptr, out.data()), std::runtime_error);
}

TEST(Executor, WorksAfterErrors) {
  for (int repetition = 0; repetition < 3; ++repetition) {
    EXPECT_NE(error_of(exit_before_shuffle_kernel, 64), "");
    std::vector<float> out = threads(96);
    run(pass_to_second_warp_kernel, 96, out.data());
    EXPECT_EQ(out[32], 31.0F);
  }
}

TEST(Executor, ShufflesOfWholeAndPartialWarps) {
  std::vector<float> out = threads(70);
  run(sum_lanes_kernel, 70, out.data());
  EXPECT_EQ(out[0], 31.0F * 32.0F / 2.0F);
  EXPECT_EQ(out[63], 31.0F * 32.0F / 2.0F + 32.0F * 32.0F);
  EXPECT_EQ(out[69], 64.0F + 65.0F + 66.0F + 67.0F + 68.0F + 69.0F);
}

TEST(Executor, NamedBarrierOrdersItsThreadsAlone) {
  std::vector<float> out = threads(96);
  run(pass_to_second_warp_kernel, 96, out.data());
  for (std::size_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(out[32 + lane], static_cast<float>(31 - lane));
  }
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
  run(read_uninitialised_kernel, 32, out.data());
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
