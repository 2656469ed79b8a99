// Kernels that make known requests are counted, and blocks that are not executed count as if they were.

#include "counted_product.hpp"
#include "guarded_array.hpp"
#include "instructions.cuh"
#include "launch.cuh"

#include "simt/counter.hpp"

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

/// Elements of the arrays that the kernels of one block get.
constexpr std::size_t COUNTED_ELEMENTS = 4096;

constexpr std::size_t DYNAMIC_BYTES = 1024;

template <class Kernel, class... Arguments>
void run(Kernel* kernel, int threads, Arguments... arguments) {
  launch(kernel, 1, dim3(static_cast<unsigned>(threads)), DYNAMIC_BYTES, nullptr, arguments...);
}

template <int STRIDE>
__global__ void shared_stride_kernel(const float* in, float* out) {
  __shared__ float values[32 * STRIDE];
  values[threadIdx.x * STRIDE] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x * STRIDE];
}

template <int STRIDE>
__global__ void global_stride_kernel(const float* in, float* out) {
  out[threadIdx.x] = in[threadIdx.x * STRIDE];
}

__global__ void global_vectors_kernel(const float* in, float* out) {
  store_float4(out + 4 * threadIdx.x, load_float4(in + 4 * threadIdx.x));
}

__global__ void half_of_the_lanes_kernel(const float* in, float* out) {
  float value = 0.0F;
  if (threadIdx.x % 2 == 0) {
    value = in[threadIdx.x];
  }
  out[threadIdx.x] = value;
}

__global__ void upper_lanes_first_kernel(const float* in, float* out) {
  float value = 0.0F;
  if (threadIdx.x >= 16) {
    value = in[threadIdx.x];
  }
  out[threadIdx.x] = value + in[32 + threadIdx.x];
}

__global__ void different_trip_counts_kernel(const float* in, float* out) {
  float sum = 0.0F;
  for (unsigned i = 0; i < threadIdx.x % 4; ++i) {
    sum += in[32 * i + threadIdx.x];
  }
  out[threadIdx.x] = sum;
}

__global__ void async_copies_kernel(const float* in, float* out) {
  float* const smem = dynamic_smem();
  const unsigned lane = threadIdx.x;
  cp_async_zfill<4>(shared_address(smem + lane), in + lane, lane < 16);
  cp_async<16>(shared_address(smem + 32 + 4 * lane), in + 32 + 4 * lane);
  cp_async_commit_group();
  cp_async_wait_group<0>();
  out[lane] = smem[lane] + smem[32 + lane];
}

__global__ void some_barriers_kernel(float* out) {
  __syncthreads();
  out[threadIdx.x] = 1.0F;
  __syncthreads();
  if (threadIdx.x < 64) {
    bar_sync(1, 64);
  }
}

__global__ void some_flops_kernel(const float* in, float* out) {
  const float x = in[threadIdx.x];
  const float y = in[64 + threadIdx.x];
  out[threadIdx.x] = (x * y + x) * y * x / (x + 1.5F - y);
}

__global__ void same_line_again_kernel(const float* in, float* out) {
  float sum = 0.0F;
  for (int i = 0; i < 2; ++i) {
    sum += in[threadIdx.x % 32];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

constexpr int TILE = 16;

__device__ std::int64_t tiles_in(std::int64_t extent) { return (extent + TILE - 1) / TILE; }

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

__global__ void persistent_kernel(Product p) {
  const std::int64_t tiles = tiles_in(p.m) * tiles_in(p.n);
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    multiply_tile(p, tile);
  }
}

__global__ void extra_reads_kernel(Product p, unsigned first_block) {
  multiply_tile(p, blockIdx.x);
  if (blockIdx.x >= first_block && threadIdx.x == 0 && p.a[1] == 0.0F) {
    p.c[0] = 0.0F;  // never: no operand is 0
  }
}

__global__ void shuffled_kernel(Product p) { multiply_tile(p, blockIdx.x * 7ULL % gridDim.x); }

__global__ void bulk_copies_kernel(Product p) {
  alignas(16) __shared__ float values[8];
  __shared__ std::uint64_t storage;
  const unsigned barrier = shared_address(&storage);
  const std::int64_t tile = blockIdx.x * 7ULL % gridDim.x;
  const std::int64_t row = tile / tiles_in(p.n) * TILE;
  const std::int64_t col = tile % tiles_in(p.n) * TILE;
  if (threadIdx.x + threadIdx.y == 0) {
    mbarrier_init(barrier, 1);
    mbarrier_arrive_expect_tx(barrier, sizeof(values));
    cp_async_bulk(shared_address(values), p.a + row * p.k, 16, barrier);
    cp_async_bulk(shared_address(values + 4), p.b + col, 16, barrier);
  }
  __syncthreads();
  mbarrier_wait(barrier, 0);
  p.c[(row + threadIdx.y) * p.n + col + threadIdx.x] = values[0] * values[4];
}

__global__ void different_conflicts_kernel(Product p) {
  __shared__ float values[1024];
  multiply_tile(p, blockIdx.x);
  values[threadIdx.x * (1 + blockIdx.x % 2 * 31)] = 1.0F;
  __syncthreads();
  if (values[threadIdx.x] == 2.0F) {
    p.c[0] = 0.0F;  // never
  }
}

__global__ void fill_kernel(Product p) {
  const std::int64_t element = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (element < p.m * p.n) {
    p.c[element / p.n * p.n + element % p.n] = p.alpha;
  }
}

template <class... Arguments>
void run_product(void (*kernel)(Product, Arguments...), std::int64_t blocks, const Product& p, Arguments... arguments) {
  launch(kernel, blocks, dim3(TILE, TILE), 0, nullptr, p, arguments...);
}

/// Each lane stores and loads shared memory once, so many words from its neighbour.
void shared_stride_1(const float* in, float* out) { run(shared_stride_kernel<1>, 32, in, out); }
void shared_stride_2(const float* in, float* out) { run(shared_stride_kernel<2>, 32, in, out); }
void shared_stride_32(const float* in, float* out) { run(shared_stride_kernel<32>, 32, in, out); }
void shared_stride_33(const float* in, float* out) { run(shared_stride_kernel<33>, 32, in, out); }
/// Those patterns with loads of global memory.
void global_broadcast(const float* in, float* out) { run(global_stride_kernel<0>, 32, in, out); }
void global_stride_2(const float* in, float* out) { run(global_stride_kernel<2>, 32, in, out); }
void global_stride_8(const float* in, float* out) { run(global_stride_kernel<8>, 32, in, out); }
void global_vectors(const float* in, float* out) { run(global_vectors_kernel, 32, in, out); }
/// Even lanes load once, all store.
void half_of_the_lanes(const float* in, float* out) { run(half_of_the_lanes_kernel, 32, in, out); }
/// The upper lanes load before all do.
void upper_lanes_first(const float* in, float* out) { run(upper_lanes_first_kernel, 32, in, out); }
/// Lane l loads l % 4 times.
void different_trip_counts(const float* in, float* out) { run(different_trip_counts_kernel, 32, in, out); }
/// 32 copies of 4 bytes, of which half write zeros, and 32 of 16 bytes.
void async_copies(const float* in, float* out) { run(async_copies_kernel, 32, in, out); }
/// Three warps at two barriers, then two of them at another.
void some_barriers(const float*, float* out) { run(some_barriers_kernel, 96, out); }
/// 33 threads: 3 multiplications, 2 additions, a subtraction and a division each.
void some_flops(const float* in, float* out) { run(some_flops_kernel, 33, in, out); }
/// Eight warps load the same line, twice.
void same_line_again(const float* in, float* out) { run(same_line_again_kernel, 256, in, out); }

std::int64_t tiles_of(const Product& p) { return tiles_in(p.m) * tiles_in(p.n); }

/// Products by blocks of 16 x 16 threads, none of which finds its tile as the others do.
/// Eight blocks that take tile after tile.
void persistent_product(const Product& p) { run_product(persistent_kernel, 8, p); }
/// Blocks of the second half read an element of A once more.
void product_with_extra_reads(const Product& p) {
  const std::int64_t blocks = tiles_of(p);
  run_product(extra_reads_kernel, blocks, p, static_cast<unsigned>(blocks / 2));
}
/// Extra reads in the last block alone.
void product_with_extra_reads_at_the_end(const Product& p) {
  const std::int64_t blocks = tiles_of(p);
  run_product(extra_reads_kernel, blocks, p, static_cast<unsigned>(blocks - 1));
}
/// Blocks take tiles in an order without pattern.
void shuffled_product(const Product& p) { run_product(shuffled_kernel, tiles_of(p), p); }
/// The same with one step, whose operands are copied in bulk.
void product_by_bulk_copies(const Product& p) { run_product(bulk_copies_kernel, tiles_of(p), p); }
/// Every block's bank conflicts depend on its number.
void product_with_different_conflicts(const Product& p) { run_product(different_conflicts_kernel, tiles_of(p), p); }
/// Reads nothing.
void fill(const Product& p) { run_product(fill_kernel, (p.m * p.n + TILE * TILE - 1) / (TILE * TILE), p); }

using CountedKernel = void (*)(const float* in, float* out);
using simt::AccessKind;
using simt::Traffic;

LaunchCounts counts_of(CountedKernel kernel, std::optional<simt::TracedWarp> traced = std::nullopt) {
  GuardedArray in(COUNTED_ELEMENTS, 1.0F);
  GuardedArray out(COUNTED_ELEMENTS, 0.0F);
  simt::Counting counting(
      {{simt::input("IN", in.data(), COUNTED_ELEMENTS)}, {simt::in_out("OUT", out.data(), COUNTED_ELEMENTS)}}, l1_bytes,
      WHOLE, traced);
  kernel(in.data(), out.data());
  return std::move(counting.take().front());
}

/// A product of so many rows, columns and steps, and how it is counted.
class CountedProduct {
 public:
  CountedProduct(std::int64_t m, std::int64_t n, std::int64_t k)
      : matrices_(m, n, k), product_{m, n, k, 1.5F, matrices_.a(), matrices_.b(), matrices_.c()} {}

  LaunchCounts count(void (*launch)(const Product&), const simt::CountingLimits& limits,
                     std::optional<simt::TracedWarp> traced = std::nullopt) const {
    return std::move(matrices_.count([&] { launch(product_); }, limits, traced).front());
  }

 private:
  CountedMatrices matrices_;
  Product product_;
};

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
  EXPECT_EQ(counts_of(shared_stride_33).smem_bytes, DYNAMIC + sizeof(float[32][33]));
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
  EXPECT_EQ(of(counts_of(different_trip_counts), AccessKind::global_load), (Traffic{3, 12, 0, 0, 4UL * (24 + 16 + 8)}));
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
    EXPECT_EQ(line.file, "counting_test.cu");
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

TEST(Counting, TracesOfAllWarpsAddUpToTheCounts) {
  for (const CountedKernel kernel : {shared_stride_32, global_vectors, different_trip_counts, async_copies,
                                     some_barriers, some_flops, same_line_again}) {
    std::array<Traffic, simt::ACCESS_KINDS> sum{};
    LaunchCounts counts;
    unsigned warp = 0;
    do {
      counts = counts_of(kernel, simt::TracedWarp{0, warp});
      ASSERT_TRUE(counts.trace.has_value());
      for (const simt::TracedRequest& request : counts.trace->requests) {
        const simt::TracedPlace& place = counts.trace->places[request.place];
        sum[static_cast<std::size_t>(place.kind)] += request.traffic;
        EXPECT_TRUE(place.file.ends_with("counting_test.cu")) << place.file;
        const bool shared = place.kind == AccessKind::shared_load || place.kind == AccessKind::shared_store;
        EXPECT_EQ(shared ? 0 : simt::sectors(request.access), request.traffic.sectors);
      }
    } while (++warp < counts.trace->warps);
    EXPECT_EQ(sum, counts.traffic);
  }
  EXPECT_FALSE(counts_of(shared_stride_32, simt::TracedWarp{0, 1}).trace.has_value());
  EXPECT_FALSE(counts_of(shared_stride_32, simt::TracedWarp{1, 0}).trace.has_value());
}

TEST(Counting, TraceKnowsOrderPlacesAndBarriers) {
  const LaunchCounts counts = counts_of(shared_stride_2, simt::TracedWarp{});
  std::vector<std::string> arrays;
  for (const simt::TracedRequest& request : counts.trace->requests) {
    arrays.push_back(counts.trace->places[request.place].array);
  }
  EXPECT_EQ(arrays, (std::vector<std::string>{"IN", "values", "values", "OUT"}));
  EXPECT_EQ(counts.trace->requests.front().barriers, 0U);
  EXPECT_EQ(counts.trace->requests.back().barriers, 1U);
  EXPECT_EQ(counts.trace->requests[1].access.address[3], 24U);
}

TEST(Counting, LongTracesKeepBothEnds) {
  const LaunchCounts whole = counts_of(same_line_again, simt::TracedWarp{0, 1});
  const LaunchCounts cut = counts_of(same_line_again, simt::TracedWarp{0, 1, 2});
  ASSERT_EQ(whole.trace->requests.size(), 3U);
  ASSERT_EQ(cut.trace->requests.size(), 2U);
  EXPECT_EQ(whole.trace->left_out, 0U);
  EXPECT_EQ(cut.trace->left_out, 1U);
  EXPECT_EQ(cut.trace->left_out_at, 2U);
}

TEST(Counting, TracedBlockIsExecutedAmongSamples) {
  CountedProduct product(400, 330, 20);
  const simt::TracedWarp warp{300, 3};
  const LaunchCounts sampled = product.count(shuffled_product, NEVER_WHOLE, warp);
  const LaunchCounts whole = product.count(shuffled_product, WHOLE, warp);
  EXPECT_LT(sampled.blocks_executed, sampled.blocks);
  ASSERT_EQ(sampled.trace->requests.size(), whole.trace->requests.size());
  for (std::size_t i = 0; i < whole.trace->requests.size(); ++i) {
    EXPECT_EQ(sampled.trace->requests[i].access.address, whole.trace->requests[i].access.address);
  }
}

TEST(Counting, BlocksInAnyOrder) {
  for (const auto& [kernel, columns] : {std::pair{&shuffled_product, 330}, {&product_by_bulk_copies, 336}}) {
    CountedProduct product(400, columns, 20);
    const LaunchCounts sampled = product.count(kernel, NEVER_WHOLE);
    EXPECT_LT(sampled.blocks_executed, sampled.blocks);
    expect_same(sampled, product.count(kernel, WHOLE));
  }
}

TEST(Counting, BlocksThatAreNoCopiesAreAllExecuted) {
  CountedProduct product(400, 330, 20);
  const std::vector<std::pair<std::string, void (*)(const Product&)>> kernels{
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
}  // namespace simt::test
