// Kernels that make known requests are counted, and blocks that are not executed count as if they were.

#include "counted_product.hpp"
#include "launch.cuh"
#include "observed.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace simt::test {
namespace {

/// C = alpha * A * B of row-major matrices without gaps: A is m x k, B is k x n.
struct Product {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  float alpha;
  const float* a;
  const float* b;
  float* c;
};

/// A kernel of one block, for arrays of 4096 elements.
struct CountedKernel {
  void (*kernel)(const float* in, float* out);
  unsigned threads = 32;
};

/// Each lane stores and loads shared memory once, so many words from its neighbour.
template <int STRIDE>
__global__ void shared_stride(const float* in, float* out) {
  __shared__ float values[32 * STRIDE];
  values[threadIdx.x * STRIDE] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x * STRIDE];
}

template <int STRIDE>
__global__ void global_stride(const float* in, float* out) {
  out[threadIdx.x] = in[threadIdx.x * STRIDE];
}

__global__ void global_vectors(const float* in, float* out) {
  store_float4(out + 4 * threadIdx.x, load_float4(in + 4 * threadIdx.x));
}

/// Even lanes load once, all store.
__global__ void half_of_the_lanes(const float* in, float* out) {
  float value = 0.0F;
  if (threadIdx.x % 2 == 0) {
    value = in[threadIdx.x];
  }
  out[threadIdx.x] = value;
}

/// The upper lanes load before all do.
__global__ void upper_lanes_first(const float* in, float* out) {
  float value = 0.0F;
  if (threadIdx.x >= 16) {
    value = in[threadIdx.x];
  }
  out[threadIdx.x] = value + in[32 + threadIdx.x];
}

/// Lane l loads l % 4 times.
__global__ void different_trip_counts(const float* in, float* out) {
  float sum = 0.0F;
  for (unsigned i = 0; i < threadIdx.x % 4; ++i) {
    sum += in[32 * i + threadIdx.x];
  }
  out[threadIdx.x] = sum;
}

/// 32 copies of 4 bytes, of which half write zeros, and 32 of 16 bytes.
__global__ void async_copies(const float* in, float* out) {
  float* const smem = dynamic_smem();
  const unsigned lane = threadIdx.x;
  copy_async(shared_address(smem + lane), lane < 16 ? in + lane : nullptr, 4);
  copy_async(shared_address(smem + 32 + 4 * lane), in + 32 + 4 * lane, 16);
  commit_copies();
  wait_for_copies(0);
  out[lane] = smem[lane] + smem[32 + lane];
}

/// Three warps at two barriers, then two of them at another.
__global__ void some_barriers(const float*, float* out) {
  __syncthreads();
  out[threadIdx.x] = 1.0F;
  __syncthreads();
  if (threadIdx.x < 64) {
    barrier(1, 64);
  }
}

/// 3 multiplications, 2 additions, a subtraction and a division of each thread.
__global__ void some_flops(const float* in, float* out) {
  const float x = in[threadIdx.x];
  const float y = in[64 + threadIdx.x];
  out[threadIdx.x] = (x * y + x) * y * x / (x + 1.5F - y);
}

/// All warps load the same line, twice.
__global__ void same_line_again(const float* in, float* out) {
  float sum = 0.0F;
  for (int i = 0; i < 2; ++i) {
    sum += in[threadIdx.x % 32];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

constexpr CountedKernel SOME_BARRIERS{some_barriers, 96};
constexpr CountedKernel SOME_FLOPS{some_flops, 33};
constexpr CountedKernel SAME_LINE_AGAIN{same_line_again, 256};

// ---- Products, by blocks of 16 x 16 threads, none of which finds its tile as the others do ----

constexpr int TILE = 16;

__device__ std::int64_t tiles_in(std::int64_t extent) { return (extent + TILE - 1) / TILE; }
__device__ std::int64_t tiles_of(const Product& p) { return tiles_in(p.m) * tiles_in(p.n); }

__device__ void multiply_tile(const Product& p, std::int64_t tile) {
  const std::int64_t tiles_n = tiles_in(p.n);
  const std::int64_t row = tile / tiles_n * TILE + threadIdx.y;
  const std::int64_t col = tile % tiles_n * TILE + threadIdx.x;
  if (row >= p.m || col >= p.n) {
    return;
  }
  float sum = 0.0F;
  for (std::int64_t k = 0; k < p.k; ++k) {
    sum += p.a[row * p.k + k] * p.b[k * p.n + col];
  }
  p.c[row * p.n + col] = p.alpha * sum;
}

/// Blocks take tile after tile.
__global__ void persistent(Product p) {
  for (std::int64_t tile = blockIdx.x; tile < tiles_of(p); tile += gridDim.x) {
    multiply_tile(p, tile);
  }
}

/// Blocks of the second half, or the last one alone, read an element of A once more.
template <bool LAST>
__global__ void extra_reads(Product p) {
  multiply_tile(p, blockIdx.x);
  if (blockIdx.x >= (LAST ? gridDim.x - 1 : gridDim.x / 2) && threadIdx.x == 0 && p.a[1] == 0.0F) {
    p.c[0] = 0.0F;  // never: no operand is 0
  }
}

/// Blocks take tiles in an order without pattern.
__global__ void shuffled(Product p) { multiply_tile(p, blockIdx.x * 7ULL % gridDim.x); }

/// The same with one step, whose operands are copied in bulk.
__global__ void bulk_copies(Product p) {
  alignas(16) __shared__ float values[8];
  __shared__ std::uint64_t storage;
  const unsigned barrier = shared_address(&storage);
  const std::int64_t tile = blockIdx.x * 7ULL % gridDim.x;
  const std::int64_t row = tile / tiles_in(p.n) * TILE;
  const std::int64_t col = tile % tiles_in(p.n) * TILE;
  if (threadIdx.x + threadIdx.y == 0) {
    mbarrier_init(barrier, 1);
    mbarrier_arrive_expecting(barrier, sizeof(values));
    bulk_copy(shared_address(values), p.a + row * p.k, 16, barrier);
    bulk_copy(shared_address(values + 4), p.b + col, 16, barrier);
  }
  __syncthreads();
  mbarrier_wait(barrier, 0);
  p.c[(row + threadIdx.y) * p.n + col + threadIdx.x] = values[0] * values[4];
}

/// The number of a block tells its bank conflicts.
__global__ void different_conflicts(Product p) {
  __shared__ float values[1024];
  multiply_tile(p, blockIdx.x);
  values[threadIdx.x * (1 + blockIdx.x % 2 * 31)] = 1.0F;
  __syncthreads();
  if (values[threadIdx.x] == 2.0F) {
    p.c[0] = 0.0F;  // never
  }
}

/// Reads nothing.
__global__ void fill(Product p) {
  const std::int64_t element = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (element < p.m * p.n) {
    p.c[element / p.n * p.n + element % p.n] = p.alpha;
  }
}

// ---- Tests ----

LaunchCounts counts_of(const CountedKernel& counted, std::optional<TracedWarp> traced = std::nullopt) {
  constexpr std::size_t DYNAMIC_BYTES = 1024;
  return InAndOut(4096).counts_of(
      [&](const float* in, float* out) { launch(counted.kernel, 1, counted.threads, DYNAMIC_BYTES, in, out); }, traced);
}

/// A product of so many rows, columns and steps, and how it is counted.
class CountedProduct {
 public:
  CountedProduct(std::int64_t m, std::int64_t n, std::int64_t k)
      : matrices_(m, n, k), product_{m, n, k, 1.5F, matrices_.a(), matrices_.b(), matrices_.c()} {}

  /// By a block for each tile, or by so many.
  LaunchCounts count(void (*kernel)(Product), const CountingLimits& limits,
                     std::optional<TracedWarp> traced = std::nullopt, std::int64_t blocks = 0) const {
    const auto run = [&] { launch(kernel, blocks > 0 ? blocks : tiles_of(product_), dim3(TILE, TILE), 0, product_); };
    return std::move(matrices_.count(run, limits, traced).front());
  }

 private:
  CountedMatrices matrices_;
  Product product_;
};

void expect_shared(const CountedKernel& kernel, std::uint64_t wavefronts) {
  const LaunchCounts counts = counts_of(kernel);
  EXPECT_EQ(counts.of(AccessKind::shared_store), (Traffic{1, 0, wavefronts, 1, 128}));
  EXPECT_EQ(counts.of(AccessKind::shared_load), (Traffic{1, 0, wavefronts, 1, 128}));
  EXPECT_EQ(counts.of(AccessKind::global_load), (Traffic{1, 4, 0, 0, 128}));
  EXPECT_EQ(counts.of(AccessKind::global_store), (Traffic{1, 4, 0, 0, 128}));
}

TEST(Counting, BankConflicts) {
  expect_shared({shared_stride<1>}, 1);
  expect_shared({shared_stride<2>}, 2);
  expect_shared({shared_stride<32>}, 32);
  expect_shared({shared_stride<33>}, 1);
}

TEST(Counting, SharedMemoryOfABlock) {
  constexpr std::size_t DYNAMIC = 1024;
  EXPECT_EQ(counts_of({global_stride<0>}).smem_bytes, DYNAMIC);
  EXPECT_EQ(counts_of({shared_stride<33>}).smem_bytes, DYNAMIC + sizeof(float[32][33]));
}

TEST(Counting, SectorsOfScatteredLoads) {
  EXPECT_EQ(counts_of({global_stride<0>}).of(AccessKind::global_load), (Traffic{1, 1, 0, 0, 128}));
  EXPECT_EQ(counts_of({global_stride<2>}).of(AccessKind::global_load), (Traffic{1, 8, 0, 0, 128}));
  EXPECT_EQ(counts_of({global_stride<8>}).of(AccessKind::global_load), (Traffic{1, 32, 0, 0, 128}));
}

TEST(Counting, VectorsAreOneRequest) {
  const LaunchCounts counts = counts_of({global_vectors});
  EXPECT_EQ(counts.of(AccessKind::global_load), (Traffic{1, 16, 0, 0, 512}));
  EXPECT_EQ(counts.of(AccessKind::global_store), (Traffic{1, 16, 0, 0, 512}));
}

TEST(Counting, LanesThatGoSeparateWays) {
  EXPECT_EQ(counts_of({half_of_the_lanes}).of(AccessKind::global_load), (Traffic{1, 4, 0, 0, 64}));
  EXPECT_EQ(counts_of({half_of_the_lanes}).of(AccessKind::global_store), (Traffic{1, 4, 0, 0, 128}));
  EXPECT_EQ(counts_of({upper_lanes_first}).of(AccessKind::global_load), (Traffic{2, 2 + 4, 0, 0, 64 + 128}));
  EXPECT_EQ(counts_of({upper_lanes_first}).of(AccessKind::global_store), (Traffic{1, 4, 0, 0, 128}));
  // 24, 16 and 8 lanes in three turns of the loop; every sector has lanes of each kind.
  EXPECT_EQ(counts_of({different_trip_counts}).of(AccessKind::global_load),
            (Traffic{3, 12, 0, 0, 4UL * (24 + 16 + 8)}));
}

TEST(Counting, AsynchronousCopies) {
  const LaunchCounts counts = counts_of({async_copies});
  const Traffic& copies = counts.of(AccessKind::async_copy);
  EXPECT_EQ(copies.requests, 2U);
  EXPECT_EQ(copies.sectors, 2U + 16U);  // zeros are not read
  EXPECT_EQ(copies.bytes, 16U * 4U + 32U * 16U);
  EXPECT_EQ(copies.wavefronts, 1U + 4U);
  EXPECT_EQ(counts.of(AccessKind::global_load).requests, 0U);
  EXPECT_EQ(counts.of(AccessKind::shared_store).requests, 0U);
  EXPECT_EQ(counts.of(AccessKind::shared_load).requests, 2U);
}

TEST(Counting, Barriers) { EXPECT_EQ(counts_of(SOME_BARRIERS).barriers, 3U * 2U + 2U); }

TEST(Counting, FloatingPointOperations) {
  const LaunchCounts counts = counts_of(SOME_FLOPS);
  ASSERT_TRUE(counts.flops.has_value());
  EXPECT_EQ(*counts.flops, 33U * 7U);
  std::uint64_t of_lines = 0;
  for (const LineCounts& line : counts.lines) {
    EXPECT_EQ(line.file, "counting_test.cu");
    EXPECT_TRUE(line.flops == 0 || !line.kind);
    of_lines += line.flops;
  }
  EXPECT_EQ(of_lines, 33U * 7U);
  EXPECT_EQ(counts.of(AccessKind::global_load).requests, 4U);  // of two warps, the second with a single lane
  EXPECT_EQ(*counts_of({global_stride<2>}).flops, 0U);
}

TEST(Counting, LinesSayWhoDoesWhat) {
  const LaunchCounts counts = counts_of({shared_stride<2>});
  std::vector<std::string> found;
  for (const LineCounts& line : counts.lines) {
    EXPECT_GT(line.line, 0U);
    found.push_back(line.array);
    EXPECT_EQ(line.example.active, ~0U);
    EXPECT_EQ(line.example.address[0], 0U);
    EXPECT_EQ(line.example.address[3], line.array == "values" ? 24U : 12U);
  }
  EXPECT_EQ(found, (std::vector<std::string>{"IN", "values", "OUT", "values"}));
}

TEST(Counting, L1KeepsWhatTheBlockReadsAgain) {
  const LaunchCounts counts = counts_of(SAME_LINE_AGAIN);
  EXPECT_EQ(counts.of(AccessKind::global_load), (Traffic{16, 64, 0, 0, 2048}));
  std::vector<std::pair<bool, int>> asked;
  for (const SectorAccess& access : counts.executed.front()->traffic) {
    asked.emplace_back(access.write, access.mask);
  }
  std::vector<std::pair<bool, int>> expected(9, {true, 15});
  expected.front() = {false, 15};
  EXPECT_EQ(asked, expected);
}

TEST(Counting, TracesOfAllWarpsAddUpToTheCounts) {
  for (const CountedKernel& kernel : {CountedKernel{shared_stride<32>},
                                      {global_vectors},
                                      {different_trip_counts},
                                      {async_copies},
                                      SOME_BARRIERS,
                                      SOME_FLOPS,
                                      SAME_LINE_AGAIN}) {
    std::array<Traffic, ACCESS_KINDS> sum{};
    LaunchCounts counts;
    unsigned warp = 0;
    do {
      counts = counts_of(kernel, TracedWarp{0, warp});
      ASSERT_TRUE(counts.trace.has_value());
      for (const TracedRequest& request : counts.trace->requests) {
        const TracedPlace& place = counts.trace->places[request.place];
        sum[static_cast<std::size_t>(place.kind)] += request.traffic;
        EXPECT_TRUE(place.file.ends_with("counting_test.cu")) << place.file;
        const bool shared = place.kind == AccessKind::shared_load || place.kind == AccessKind::shared_store;
        EXPECT_EQ(shared ? 0 : sectors(request.access), request.traffic.sectors);
      }
    } while (++warp < counts.trace->warps);
    EXPECT_EQ(sum, counts.traffic);
  }
  EXPECT_FALSE(counts_of({shared_stride<32>}, TracedWarp{0, 1}).trace.has_value());
  EXPECT_FALSE(counts_of({shared_stride<32>}, TracedWarp{1, 0}).trace.has_value());
}

TEST(Counting, TraceKnowsOrderPlacesAndBarriers) {
  const LaunchCounts counts = counts_of({shared_stride<2>}, TracedWarp{});
  std::vector<std::string> arrays;
  for (const TracedRequest& request : counts.trace->requests) {
    arrays.push_back(counts.trace->places[request.place].array);
  }
  EXPECT_EQ(arrays, (std::vector<std::string>{"IN", "values", "values", "OUT"}));
  EXPECT_EQ(counts.trace->requests.front().barriers, 0U);
  EXPECT_EQ(counts.trace->requests.back().barriers, 1U);
  EXPECT_EQ(counts.trace->requests[1].access.address[3], 24U);
}

TEST(Counting, LongTracesKeepBothEnds) {
  const LaunchCounts whole = counts_of(SAME_LINE_AGAIN, TracedWarp{0, 1});
  const LaunchCounts cut = counts_of(SAME_LINE_AGAIN, TracedWarp{0, 1, 2});
  ASSERT_EQ(whole.trace->requests.size(), 3U);
  ASSERT_EQ(cut.trace->requests.size(), 2U);
  EXPECT_EQ(whole.trace->left_out, 0U);
  EXPECT_EQ(cut.trace->left_out, 1U);
  EXPECT_EQ(cut.trace->left_out_at, 2U);
}

TEST(Counting, TracedBlockIsExecutedAmongSamples) {
  CountedProduct product(400, 330, 20);
  const TracedWarp warp{300, 3};
  const LaunchCounts sampled = product.count(shuffled, NEVER_WHOLE, warp);
  const LaunchCounts whole = product.count(shuffled, WHOLE, warp);
  EXPECT_LT(sampled.blocks_executed, sampled.blocks);
  ASSERT_EQ(sampled.trace->requests.size(), whole.trace->requests.size());
  for (std::size_t i = 0; i < whole.trace->requests.size(); ++i) {
    EXPECT_EQ(sampled.trace->requests[i].access.address, whole.trace->requests[i].access.address);
  }
}

TEST(Counting, BlocksInAnyOrder) {
  for (const auto& [kernel, columns] : {std::pair{&shuffled, 330}, {&bulk_copies, 336}}) {
    CountedProduct product(400, columns, 20);
    const LaunchCounts sampled = product.count(kernel, NEVER_WHOLE);
    EXPECT_LT(sampled.blocks_executed, sampled.blocks);
    expect_same(sampled, product.count(kernel, WHOLE));
  }
}

TEST(Counting, BlocksThatAreNoCopiesAreAllExecuted) {
  CountedProduct product(400, 330, 20);
  struct Unlike {
    std::string name;
    void (*kernel)(Product);
    std::int64_t blocks = 0;
  };
  for (const auto& [name, kernel, blocks] :
       std::vector<Unlike>{{"persistent", persistent, 8},
                           {"extra reads", extra_reads<false>},
                           {"extra reads at the end", extra_reads<true>},
                           {"different conflicts", different_conflicts},
                           {"fill", fill, (400 * 330 + TILE * TILE - 1) / (TILE * TILE)}}) {
    SCOPED_TRACE(name);
    const LaunchCounts counts = product.count(kernel, SAMPLED, std::nullopt, blocks);
    EXPECT_TRUE(counts.whole());
    expect_same(counts, product.count(kernel, WHOLE, std::nullopt, blocks));
    try {
      EXPECT_TRUE(product.count(kernel, NEVER_WHOLE, std::nullopt, blocks).whole()) << "it was counted by samples";
    } catch (const NotCountable& error) {
      expect_parts(error.what(), {"too large to be executed block by block, and "});
    }
  }
}

TEST(Counting, ProductThatIsCountedWholeIsRight) {
  CountedProduct product(64, 48, 32);
  const LaunchCounts counts = product.count(persistent, WHOLE, std::nullopt, 8);
  EXPECT_EQ(counts.blocks, 8U);
  EXPECT_EQ(counts.bytes_read[0], 64U * 48U * 32U * 4U);
  EXPECT_EQ(*counts.flops, 2U * 64U * 48U * 32U + 64U * 48U);
  EXPECT_EQ(counts.elements_read_by_first(8), 64U * 32U + 32U * 48U);
}

}  // namespace
}  // namespace simt::test
