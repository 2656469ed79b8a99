// The pool that calls take memory from, on a CUDA that has pools, pressure and captures without a GPU.

#include "memory_pool.hpp"
#include "cuda_guard.hpp"
#include "drop_in/fake_cuda.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace sgemm {
namespace {

constexpr std::size_t MIB = std::size_t{1} << 20U;
constexpr std::size_t GIB = std::size_t{1} << 30U;
constexpr std::size_t ANY = std::numeric_limits<std::size_t>::max();
constexpr std::uint64_t CONTEXT = 1;
const auto STREAM = reinterpret_cast<cudaStream_t>(64);
const auto OTHER_STREAM = reinterpret_cast<cudaStream_t>(128);

class MemoryPoolTest : public testing::Test {
 protected:
  /// On a device of its own, because the pool of a device stays.
  MemoryPoolTest() {
    static int tests = 0;
    auto pools = std::move(cuda.pools);
    cuda = {};
    cuda.pools = std::move(pools);
    cuda.device = ++tests;
    cuda.total = 80 * GIB;
    for (const auto& pool : cuda.pools) {
      pool->idle.clear();
      pool->pending.clear();
    }
    before_ = cuda.pools.size();
  }

  FakePool& of_device() { return *cuda.pools.at(before_); }
  /// The memory that a call works in, which it has given back.
  static void* memory_of_call(MemoryPool& pool, std::size_t bytes, cudaStream_t stream, bool keeps = false) {
    const CudaGuard guard;
    const MemoryPool::Block block = pool.allocate(bytes, stream);
    pool.free(block, stream, keeps);
    return block.data;
  }
  static bool works(MemoryPool& pool, std::size_t bytes, cudaStream_t stream = STREAM) {
    return memory_of_call(pool, bytes, stream) != nullptr;
  }
  static void wait_for_the_next_look() { std::this_thread::sleep_for(std::chrono::milliseconds(120)); }

  FakeCuda& cuda = *fake_cuda();
  std::size_t before_ = 0;
};

/// With the pool of a handle.
class OneHandleTest : public MemoryPoolTest {
 protected:
  MemoryPool pool{ANY, CONTEXT};
};

TEST_F(MemoryPoolTest, HandlesOfADeviceShareItsPool) {
  std::vector<std::unique_ptr<MemoryPool>> handles;
  for (int thread = 0; thread < 8; ++thread) {
    handles.push_back(std::make_unique<MemoryPool>(ANY, CONTEXT));
    EXPECT_TRUE(works(*handles.back(), GIB));
  }
  EXPECT_EQ(cuda.pools.size(), before_ + 1);
  cuda.synchronize();
  EXPECT_EQ(of_device().reserved(), GIB) << "what one has freed is there for the next";
  cuda.device += 1000;
  const MemoryPool elsewhere(ANY, CONTEXT);
  EXPECT_EQ(cuda.pools.size(), before_ + 2);
}

TEST_F(OneHandleTest, ThePoolKeepsAPartOfTheMemoryAlone) {
  EXPECT_TRUE(works(pool, 20 * GIB));
  EXPECT_TRUE(works(pool, 2 * GIB));
  cuda.synchronize();
  EXPECT_LE(of_device().reserved(), 80 * GIB / 32);
  EXPECT_TRUE(works(pool, 2 * GIB));
  cuda.synchronize();
  EXPECT_EQ(of_device().reserved(), 2 * GIB);
}

/// As where PyTorch needs what the pool keeps.
TEST_F(OneHandleTest, LessIsKeptWhereLittleIsFree) {
  EXPECT_TRUE(works(pool, 2 * GIB));
  const auto threshold_where_others_have = [&](std::size_t bytes) {
    cuda.of_others = bytes;
    wait_for_the_next_look();
    works(pool, MIB);
    return of_device().threshold;
  };
  EXPECT_EQ(threshold_where_others_have(77 * GIB), GIB / 4) << "a quarter of what is free";
  cuda.synchronize();
  EXPECT_LE(of_device().reserved(), GIB / 4);
  const std::size_t all_others = cuda.total - of_device().reserved();
  EXPECT_EQ(threshold_where_others_have(all_others), 64 * MIB) << "however little is free";
  EXPECT_EQ(threshold_where_others_have(0), 80 * GIB / 32);
}

/// Trimming to a size leaves a piece that is larger than this size whole.
TEST_F(OneHandleTest, ALargePieceIsGivenBackWhereLittleIsFree) {
  EXPECT_TRUE(works(pool, GIB));
  cuda.of_others = cuda.total - of_device().reserved();
  wait_for_the_next_look();
  EXPECT_TRUE(works(pool, MIB));
  EXPECT_LE(of_device().reserved(), 64 * MIB);
}

TEST_F(OneHandleTest, FreeMemoryIsAskedForNowAndThen) {
  cuda.questions = 0;
  for (int call = 0; call < 1000; ++call) {
    works(pool, MIB);
  }
  EXPECT_LE(cuda.questions, 3);
}

TEST_F(MemoryPoolTest, WhatThePoolKeepsInPiecesMakesRoomForMore) {
  cuda.of_others = 78 * GIB;
  MemoryPool pool(ANY, CONTEXT);
  std::vector<MemoryPool::Block> blocks;
  for (int piece = 0; piece < 3; ++piece) {
    blocks.push_back(pool.allocate(GIB / 2, STREAM));
  }
  for (const MemoryPool::Block& block : blocks) {
    pool.free(block, STREAM, false);
  }
  EXPECT_TRUE(works(pool, GIB));
  EXPECT_EQ(cuda.error, cudaSuccess) << "the program finds an error that is not its own";
}

TEST_F(OneHandleTest, WhereThereIsNoRoomCudaIsNotAskedInEveryCall) {
  cuda.of_others = cuda.total;
  for (int call = 0; call < 100; ++call) {
    EXPECT_FALSE(works(pool, GIB));
  }
  EXPECT_LT(cuda.refused_allocations, 100);
  cuda.of_others = 0;
  EXPECT_TRUE(works(pool, MIB)) << "for less there may be room";
  wait_for_the_next_look();
  EXPECT_TRUE(works(pool, GIB));
  EXPECT_TRUE(works(pool, GIB)) << "from then on";
}

TEST_F(OneHandleTest, ErrorsOfTheProgramStay) {
  cuda.of_others = cuda.total;
  cuda.error = cudaErrorInvalidConfiguration;
  EXPECT_FALSE(works(pool, GIB));
  EXPECT_NE(cuda.error, cudaSuccess);
}

TEST_F(MemoryPoolTest, TheLastHandleGivesAllBack) {
  auto first = std::make_unique<MemoryPool>(ANY, CONTEXT);
  auto second = std::make_unique<MemoryPool>(ANY, CONTEXT);
  EXPECT_TRUE(works(*first, GIB));
  first.reset();
  EXPECT_EQ(of_device().reserved(), GIB);
  second.reset();
  EXPECT_EQ(of_device().reserved(), 0U);
  EXPECT_EQ(of_device().threshold, 0U) << "what work still uses goes behind it";
  MemoryPool again(ANY, CONTEXT);
  EXPECT_TRUE(works(again, GIB));
  cuda.synchronize();
  EXPECT_EQ(of_device().reserved(), GIB);
  again.trim();
  EXPECT_EQ(of_device().reserved(), 0U);
}

TEST_F(MemoryPoolTest, ALimitIsForAllHandlesTogether) {
  MemoryPool pool(GIB, CONTEXT);
  MemoryPool other(GIB, CONTEXT);
  EXPECT_EQ(pool.limit(), GIB);
  EXPECT_FALSE(works(pool, GIB + 1));
  const MemoryPool::Block block = pool.allocate(768 * MIB, STREAM);
  EXPECT_NE(block.data, nullptr);
  EXPECT_FALSE(works(other, 512 * MIB));
  pool.free(block, STREAM, false);
  wait_for_the_next_look();
  EXPECT_TRUE(works(pool, GIB));
  EXPECT_EQ(of_device().threshold, GIB);
}

/// Another stream's work may wait for work behind this allocation: neither would go on.
TEST_F(MemoryPoolTest, NoStreamWaitsForTheMemoryOfAnother) {
  MemoryPool pool(GIB, CONTEXT);
  cuda.busy = STREAM;
  EXPECT_TRUE(works(pool, GIB, STREAM));
  EXPECT_TRUE(works(pool, GIB, STREAM)) << "its own stream's work comes one after the other";
  EXPECT_FALSE(works(pool, GIB, OTHER_STREAM));
  EXPECT_EQ(cuda.waits, 0);
}

TEST_F(MemoryPoolTest, AResetOfTheDeviceLeadsToAnotherPool) {
  const MemoryPool gone(ANY, CONTEXT);
  MemoryPool pool(ANY, CONTEXT + 1);
  EXPECT_EQ(cuda.pools.size(), before_ + 2);
  MemoryPool with_limit(GIB, CONTEXT + 1);
  EXPECT_EQ(cuda.pools.size(), before_ + 3) << "handles with one limit share it";
}

/// Others take what pools keep, but not what is allocated.
TEST_F(MemoryPoolTest, MemoryStaysForTheNextCall) {
  auto pool = std::make_unique<MemoryPool>(ANY, CONTEXT);
  const auto call = [&](std::size_t bytes, cudaStream_t stream) { return memory_of_call(*pool, bytes, stream, true); };
  void* const first = call(GIB, STREAM);
  pool->trim();
  of_device().idle.clear();
  cuda.of_others = cuda.total - GIB;
  EXPECT_EQ(call(GIB, STREAM), first);
  EXPECT_EQ(call(MIB, OTHER_STREAM), first) << "the work on the first stream is done";
  cuda.busy = OTHER_STREAM;
  call(MIB, OTHER_STREAM);
  EXPECT_EQ(call(GIB, STREAM), nullptr) << "it is in use, and nothing waits";
  EXPECT_EQ(cuda.waits, 0);
  cuda.busy = nullptr;
  cuda.of_others = 0;
  wait_for_the_next_look();
  EXPECT_NE(call(2 * GIB, STREAM), first);
  EXPECT_EQ(of_device().in_use, 2 * GIB) << "the larger one stays";
  pool.reset();
  EXPECT_EQ(of_device().in_use, 0U);
}

/// Once the handle is no longer repeatable. Another device may be current, whose streams are not the pool's.
TEST_F(OneHandleTest, MemoryThatStaysIsFreedBehindItsWork) {
  pool.free_kept();
  memory_of_call(pool, GIB, STREAM, true);
  const int device = std::exchange(cuda.device, cuda.device + 1000);
  cuda.busy = STREAM;
  pool.free_kept();
  EXPECT_EQ(of_device().in_use, 0U);
  EXPECT_EQ(cuda.waits, 1) << "by a stream of the pool";
  EXPECT_EQ(cuda.device_of_stream, device);
  cuda.captured = {OTHER_STREAM};
  EXPECT_TRUE(works(pool, MIB, OTHER_STREAM));
  EXPECT_EQ(cuda.waits_of_host, 0) << "the memory of a graph is taken on another one";
  pool.free_kept();
  EXPECT_EQ(cuda.error, cudaSuccess) << "it is freed once";
}

TEST_F(MemoryPoolTest, WithAnOlderDriverItLimitsEachCall) {
  cuda.knows_limits = false;
  MemoryPool pool(GIB, CONTEXT);
  EXPECT_FALSE(works(pool, GIB + 1));
  EXPECT_TRUE(works(pool, GIB));
}

TEST_F(MemoryPoolTest, ALimitOfNothingTakesNothing) {
  MemoryPool pool(0, CONTEXT);
  EXPECT_EQ(pool.limit(), 0U);
  EXPECT_FALSE(works(pool, 1));
  EXPECT_EQ(cuda.pools.size(), before_);
}

TEST_F(MemoryPoolTest, AWrongSgemmMemoryIsNamed) {
  setenv("SGEMM_MEMORY", "much", 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(memory_limit(), ANY);
  EXPECT_EQ(memory_limit(), ANY) << "of another handle";
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "libsgemm: SGEMM_MEMORY=much is no number of bytes such as 512M or 2G; there is no limit\n");
}

TEST_F(OneHandleTest, AGraphHasPlainMemoryUntilItIsDestroyed) {
  cuda.captured = {STREAM, OTHER_STREAM};
  const auto allocate = [&](std::size_t bytes, cudaStream_t stream) { return memory_of_call(pool, bytes, stream); };
  void* const memory = allocate(GIB, STREAM);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(allocate(MIB, STREAM), memory) << "work of a stream comes one after the other";
  void* const beside = allocate(MIB, OTHER_STREAM);
  EXPECT_NE(beside, memory) << "work of two streams may overlap";
  EXPECT_NE(allocate(2 * GIB, STREAM), memory);
  EXPECT_EQ(cuda.memory_nodes, 0);
  EXPECT_EQ(cuda.broken_captures, 0);
  EXPECT_EQ(of_device().in_use, 3 * GIB + MIB) << "a replay would find it in other hands";

  cuda.captured = {};
  EXPECT_NE(allocate(GIB, STREAM), memory) << "a call beside the graph has memory of its own";
  cuda.destroy_graph();
  works(pool, 1);
  EXPECT_EQ(of_device().in_use, 0U);
}

/// A thread's own stream has one name in all threads.
TEST_F(OneHandleTest, StreamsOfThreadsHaveMemoryOfTheirOwn) {
  cuda.captured = {cudaStreamPerThread};
  const auto allocate = [&] { return memory_of_call(pool, GIB, cudaStreamPerThread); };
  void* const memory = allocate();
  EXPECT_EQ(allocate(), memory);
  std::thread([&] { EXPECT_NE(allocate(), memory) << "work of two threads may overlap"; }).join();
  cuda.destroy_graph();
}

TEST_F(OneHandleTest, ACaptureHasMemoryOfItsOwn) {
  cuda.captured = {STREAM};
  const CudaGuard guard;
  void* const first = pool.allocate(GIB, STREAM).data;
  ++cuda.capture;
  EXPECT_NE(pool.allocate(GIB, STREAM).data, first);
  cuda.destroy_graph();
}

TEST_F(MemoryPoolTest, GraphsMayOutliveAllHandles) {
  auto pool = std::make_unique<MemoryPool>(ANY, CONTEXT);
  cuda.captured = {STREAM};
  {
    const CudaGuard guard;
    EXPECT_NE(pool->allocate(GIB, STREAM).data, nullptr);
    pool.reset();
  }
  EXPECT_EQ(of_device().in_use, GIB);
  cuda.captured = {};
  cuda.destroy_graph();
  MemoryPool next(ANY, CONTEXT);
  works(next, 1);
  EXPECT_EQ(of_device().in_use, 0U);
}

TEST_F(OneHandleTest, GraphsHaveAPartOfTheMemoryAlone) {
  cuda.captured = {STREAM};
  int captures = 0;
  while (works(pool, GIB)) {
    ++captures;
    ++cuda.capture;
  }
  EXPECT_EQ(captures, 10) << "an eighth of the device's memory";
  cuda.captured = {};
  EXPECT_TRUE(works(pool, GIB)) << "which leaves room for other calls";
  cuda.destroy_graph();
}

TEST_F(OneHandleTest, AGraphThatHoldsNothingGetsNothing) {
  cuda.captured = {STREAM};
  cuda.graph_refuses = true;
  EXPECT_FALSE(works(pool, GIB));
  cuda.captured = {};
  works(pool, 1);
  EXPECT_EQ(of_device().in_use, 0U);
}

TEST_F(MemoryPoolTest, WhileAnotherThreadCapturesNothingIsBroken) {
  cuda.captured = {OTHER_STREAM};
  {
    const CudaGuard guard;
    MemoryPool pool(ANY, CONTEXT);
    EXPECT_TRUE(works(pool, GIB));
    pool.trim();
  }
  EXPECT_EQ(cuda.broken_captures, 0);
}

TEST(MemoryLimitTest, BytesHaveUnits) {
  EXPECT_EQ(bytes_of("0"), 0U);
  EXPECT_EQ(bytes_of("800000000"), 800'000'000U);
  EXPECT_EQ(bytes_of("3K"), 3072U);
  EXPECT_EQ(bytes_of("512M"), 512 * MIB);
  EXPECT_EQ(bytes_of("2GiB"), 2 * GIB);
  EXPECT_EQ(bytes_of("2GB"), 2 * GIB);
  for (const char* wrong : {"", "G", "-1", "1.5G", "2X", "2Gi", "2 G", "99999999999999999999", "99999999999T"}) {
    EXPECT_FALSE(bytes_of(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace sgemm
