// Chapter 09: every shape
//
// Against 08: one tile does not fit all. Tiles of 128x256 leave most of the chip idle when C is small, and in the last
// wave of any C. Here tiles are smaller, k is divided as well, in two ways, and the tile is chosen for the problem.
//
//   among blocks   Stream-k: the grid has as many blocks as the chip has SMs. The tiles that do not fill all of them
//                  evenly are divided along k. Their k-tiles lie in a row, and each block takes an equal share of it.
//                  The sums of a share that begins within a tile go to the block that has the tile's beginning.
//
//                      tile    |    0    |    1    |    2    |
//                      share   |  0   |  1   |  2   |   3    |
//
//   among warps    Sliced-k: tiles are too small for eight warps of 64x64, so several warps compute the same warp tile.
//                  Each takes its own slice of every k-tile, with 16x8 elements per thread, so 6 LDS.128 for 128 FMAs.
//                  Their sums meet in shared memory. Shorter chains of additions are more accurate, too.
//
//   tiles          128x128, two slices         64x128, four slices         32x32, eight slices, 8x4 per thread
//
// The loop is that of 08, in common/warp_specialized.cuh. Blocks are persistent, and producer warps fetch the next
// tile's operands while consumers store the last tile. Tiles of 32x32 are for the smallest problems, and for GPUs
// before sm_90: a block for each, without producer warps, starts sooner. A cost model predicts which tile is the
// fastest.
//
// Traffic per element of C: k / BN loads of A and k / BM of B from global memory. Each share that ends within a tile
// adds one store and one load of the tile's sums.
// Limit: issue slots, as in 08; in small problems the launch, and the latency of the first loads and the last stores.

#include "common/ceil_div.hpp"
#include "common/epilogue.cuh"
#include "common/hilbert.hpp"
#include "common/keep_in_register.cuh"
#include "common/problem.hpp"
#include "common/tiling.cuh"
#include "common/vector_access.cuh"
#include "common/warp_specialized.cuh"
#include "host/launch.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/ld_st.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/shared_memory.cuh"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sgemm {
namespace {

using namespace warp_specialized;

constexpr int WARPS = 8;  // that multiply, in either of these tiles

struct Tile128x128 : TileDefaults {
  static constexpr int WARPS_M = 2, WARPS_N = 2, SLICES = 2, BK = 64, STAGES = 2;
  static constexpr double CYCLES_PER_FMA = 1.22;  // on each of an SM's 128 lanes
};
struct Tile128x128Scalar : Tile128x128 {  // copies of single floats take longer, so the ring has more stages
  static constexpr int BK = 48, STAGES = 3;
};
struct Tile64x128 : TileDefaults {
  static constexpr int WARPS_M = 1, WARPS_N = 2, SLICES = 4, BK = 64, STAGES = 3;
  static constexpr double CYCLES_PER_FMA = 1.26;
};

// ---- Stream-k: k divided among blocks ----

/// The number of the block's share. Shares are dealt from the last block to the first. A block waits for the blocks
/// that have the rest of its tile, and these were started before it.
__device__ __forceinline__ int own_share() { return static_cast<int>(gridDim.x - 1 - blockIdx.x); }

/// The division of work among blocks. The tiles of C lie along the Hilbert curve. The first ones are computed whole, by
/// one block after the other. The k-tiles of those behind them are dealt out to all blocks in equal shares.
struct Schedule {
  int whole;          ///< how many tiles are not divided
  int k_tiles;        ///< how many each tile of C takes
  int share;          ///< k-tiles of a block's share, or one less:
  int longer_shares;  ///< how many of the shares, the first ones, have one k-tile more
  int blocks;
  float4* sums;     ///< of each share, for the block that has the beginning of the tile
  unsigned* flags;  ///< of each warp of each share: whether its sums are there. They are 0 between launches

  /// The k-tile at which share number `index` begins, counted from the first divided tile on.
  __device__ int begin_of_share(int index) const { return index * share + min(index, longer_shares); }

  // What a thread hands over, and its warp's flag. Threads of equal numbers have the same elements of a tile.
  __device__ int warp(int of_share) const { return of_share * WARPS + static_cast<int>(threadIdx.x) / WARP; }
  __device__ unsigned* flag(int of_share) const { return flags + warp(of_share); }
  template <class Shape>
  __device__ float4* sums_of(int of_share) const {
    return sums + warp(of_share) * (Shape::BM * Shape::BN / 4 / WARPS) + threadIdx.x % WARP;
  }
};

/// A block's work, segment by segment: its share of the divided tiles comes first.
struct Work {
  int at, end, next_whole;             ///< what is left of the share, and the tile that comes next after it
  int tile = 0, first = 0, count = 0;  ///< the segment: consecutive k-tiles of one tile of C

  /// Goes on to the next segment. Returns whether there is one.
  __device__ __forceinline__ bool next(const Schedule& schedule) {
    if (at == end) {
      tile = next_whole;
      first = 0;
      count = schedule.k_tiles;
      next_whole += static_cast<int>(gridDim.x);
      return tile < schedule.whole;
    }
    tile = schedule.whole + at / schedule.k_tiles;
    first = at % schedule.k_tiles;
    count = min(schedule.k_tiles - first, end - at);
    at += count;
    return true;
  }
};

/// Hands the sums of a segment that begins within its tile to the block that has the tile's beginning.
template <class Shape>
__device__ __forceinline__ void hand_over(const Schedule& schedule, const float (&sums)[FINISHED_ROWS<Shape>][TN]) {
  float4* const to = schedule.sums_of<Shape>(own_share());
#pragma unroll
  for (int i = 0; i < FINISHED_ROWS<Shape> * TN; i += 4) {
    const float* const four = &sums[i / TN][i % TN];
    __stcg(to + i / 4 * WARP, float4{four[0], four[1], four[2], four[3]});
  }
  __syncwarp();
  if (threadIdx.x % WARP == 0) {
    raise_flag(schedule.flag(own_share()));
  }
}

/// Adds what other blocks have of a tile whose beginning this block has summed.
template <class Shape>
__device__ __forceinline__ void collect(const Schedule& schedule, int tile, float (&sums)[FINISHED_ROWS<Shape>][TN]) {
  const int end_of_tile = (tile - schedule.whole + 1) * schedule.k_tiles;
  // Each lane waits for another flag at the same time, because every look at a flag goes to the L2.
  int share = own_share() + 1 + static_cast<int>(threadIdx.x) % WARP;
  for (; schedule.begin_of_share(share) < end_of_tile; share += WARP) {
    wait_for_flag(schedule.flag(share));
  }
  __syncwarp();
#pragma unroll 1
  for (share = own_share() + 1; schedule.begin_of_share(share) < end_of_tile; ++share) {
#pragma unroll
    for (int i = 0; i < FINISHED_ROWS<Shape> * TN; i += 4) {
      const float4 other = __ldcg(schedule.sums_of<Shape>(share) + i / 4 * WARP);
      float* const four = &sums[i / TN][i % TN];
      four[0] += other.x;
      four[1] += other.y;
      four[2] += other.z;
      four[3] += other.w;
    }
  }
}

// ---- The kernel with producer warps ----

/// ACCESS: how B is copied and C stored.
template <class Shape, Access ACCESS>
__global__ void __launch_bounds__(Shape::THREADS, 1) every_shape_kernel(Problem p, Schedule schedule) {
  const unsigned smem = shared_address(dynamic_smem());
  Shape::Ring::init(smem, Shape::CONSUMER_WARPS, PRODUCER_THREADS);
  __syncthreads();

  Work work{schedule.begin_of_share(own_share()), schedule.begin_of_share(own_share() + 1),
            static_cast<int>(blockIdx.x)};
  if (threadIdx.x >= Shape::CONSUMER_THREADS) {
    setmaxnreg_dec<Shape::PRODUCER_REGISTERS>();
    constexpr Reading READ_B = ACCESS == Access::float4 ? Reading::mn_major_by_four : Reading::mn_major;
    Producer<Shape, Reading::k_major, READ_B> producer(smem);
    while (work.next(schedule)) {
      producer.produce(p, tile_on_curve<Shape::BM, Shape::BN>(p, work.tile), work.first, work.count);
    }
    return;  // consumers wait for every k-tile, and the block lasts as long as they do
  }
  setmaxnreg_inc<Shape::CONSUMER_REGISTERS>();
  Consumer<Shape> consumer(smem);
#pragma unroll 1
  while (work.next(schedule)) {
    float accumulators[TM][TN] = {};
    consumer.consume(work.count, accumulators);
    float sums[FINISHED_ROWS<Shape>][TN];
    add_slices<Shape>(accumulators, sums);
    if (work.first > 0) {
      hand_over<Shape>(schedule, sums);
      continue;
    }
    if (work.count < schedule.k_tiles) {
      collect<Shape>(schedule, work.tile, sums);
    }
    const TileOrigin tile = tile_on_curve<Shape::BM, Shape::BN>(p, work.tile);
    const unsigned thread = keep_in_register(threadIdx.x);  // computed again, not kept through the loop
    store<Shape, ACCESS, Epilogue::scaled>(p, tile.row + row_in_tile<Shape>(thread),
                                           tile.col + column_in_tile<Shape>(thread),
                                           static_cast<int>(slice_of<Shape>(thread)), sums);
  }
}

// ---- The kernel for the smallest problems: all warps copy and multiply ----

namespace small {

constexpr int BM = 32, BN = 32, BK = 64, STAGES = 4;
// Each warp has all of the tile, 8 x 4 per thread, and a slice of k. With eight, a thread finishes four elements.
constexpr int TM = BM / LANES_M, TN = BN / LANES_N, SLICES = 8, SLICE_K = BK / SLICES, THREADS = SLICES * WARP;
// Four floats of padding after each row of A: rows that neighbours read at the same time lie in different banks.
constexpr int A_STRIDE = BK + 4, A_FLOATS = BM * A_STRIDE;
constexpr int STAGE_BYTES = (A_FLOATS + BK * BN) * FLOAT_BYTES, SMEM_BYTES = STAGES * STAGE_BYTES;
static_assert(BM * BN == 4 * THREADS && SLICES * BM * BN * FLOAT_BYTES <= SMEM_BYTES);

/// Copies ROWS x COLS floats from `source` on. `rows_left` rows and `cols_left` columns of them lie inside the matrix;
/// all others become zeros. In shared memory rows are STRIDE floats apart.
template <int ROWS, int COLS, int STRIDE, Access ACCESS>
__device__ __forceinline__ void copy(unsigned to, const float* source, std::int64_t ld, int rows_left, int cols_left) {
  constexpr int WIDTH = static_cast<int>(ACCESS);
  constexpr int ROWS_AT_ONCE = THREADS / (COLS / WIDTH);
  const int row = static_cast<int>(threadIdx.x) / (COLS / WIDTH);
  const int col = static_cast<int>(threadIdx.x) % (COLS / WIDTH) * WIDTH;
  source += row * ld + col;
#pragma unroll
  for (int r = 0; r < ROWS; r += ROWS_AT_ONCE) {
    cp_async_zfill<WIDTH * FLOAT_BYTES>(to + ((row + r) * STRIDE + col) * FLOAT_BYTES, source,
                                        row + r < rows_left && col < cols_left);
    source += ROWS_AT_ONCE * ld;
  }
}

/// ACCESS: how A and B are copied and C stored.
template <Access ACCESS>
__global__ void __launch_bounds__(THREADS, 2) every_shape_small_kernel(Problem p) {
  const unsigned smem = shared_address(dynamic_smem());
  const TileOrigin tile = tile_of_block<BM, BN>(p);
  const int rows_left = at_most<BM>(p.m - tile.row);
  const int cols_left = at_most<BN>(p.n - tile.col);
  const int k_tiles = static_cast<int>(ceil_div<std::int64_t>(p.k, BK));
  const auto copy_k_tile = [&](int k_tile) {
    if (k_tile < k_tiles) {
      const unsigned to = smem + k_tile % STAGES * STAGE_BYTES;
      const std::int64_t k = std::int64_t{k_tile} * BK;
      const auto k_left = static_cast<int>(p.k - k);
      copy<BM, BK, A_STRIDE, ACCESS>(to, p.a + tile.row * p.lda + k, p.lda, rows_left, k_left);
      copy<BK, BN, BN, ACCESS>(to + A_FLOATS * FLOAT_BYTES, p.b + k * p.ldb + tile.col, p.ldb, k_left, cols_left);
    }
    cp_async_commit_group();
  };
  for (int k_tile = 0; k_tile < STAGES - 1; ++k_tile) {
    copy_k_tile(k_tile);
  }
  const int slice = static_cast<int>(threadIdx.x) / WARP;
  const int row = static_cast<int>(threadIdx.x) % WARP / LANES_N;
  const int col = static_cast<int>(threadIdx.x) % LANES_N * TN;
  const unsigned a_first = smem + (row * A_STRIDE + slice * SLICE_K) * FLOAT_BYTES;
  const unsigned b_first = smem + (A_FLOATS + slice * SLICE_K * BN + col) * FLOAT_BYTES;
  float accumulators[TM][TN] = {};
#pragma unroll 1
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
    cp_async_wait_group<STAGES - 2>();
    __syncthreads();
    copy_k_tile(k_tile + STAGES - 1);
    const unsigned stage = k_tile % STAGES * STAGE_BYTES;
#pragma unroll
    for (int k = 0; k < SLICE_K; k += 4) {
      float4 a[TM];  // four elements along k of each row
#pragma unroll
      for (int i = 0; i < TM; ++i) {
        a[i] = ld_shared_v4_f32(a_first + stage + (i * LANES_M * A_STRIDE + k) * FLOAT_BYTES);
      }
#pragma unroll
      for (int kk = 0; kk < 4; ++kk) {
        const float4 b = ld_shared_v4_f32(b_first + stage + (k + kk) * BN * FLOAT_BYTES);
#pragma unroll
        for (int i = 0; i < TM; ++i) {
          const float x = kk == 0 ? a[i].x : kk == 1 ? a[i].y : kk == 2 ? a[i].z : a[i].w;
          accumulators[i][0] += x * b.x;
          accumulators[i][1] += x * b.y;
          accumulators[i][2] += x * b.z;
          accumulators[i][3] += x * b.w;
        }
      }
    }
  }

  cp_async_wait_group<0>();
  __syncthreads();
  float* const exchange = dynamic_smem();
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const float(&sums)[TN] = accumulators[i];
    store_float4(exchange + (slice * BM + row + i * LANES_M) * BN + col, float4{sums[0], sums[1], sums[2], sums[3]});
  }
  __syncthreads();
  const int first = static_cast<int>(threadIdx.x) * 4;  // of four elements that this thread finishes
  float4 sum{};
#pragma unroll
  for (int s = 0; s < SLICES; ++s) {
    const float4 other = load_float4(exchange + s * BM * BN + first);
    sum = {sum.x + other.x, sum.y + other.y, sum.z + other.z, sum.w + other.w};
  }
  const float total[4] = {sum.x, sum.y, sum.z, sum.w};
  float* const c = p.c + (tile.row + first / BN) * p.ldc + tile.col + first % BN;
  const int inside = first / BN < rows_left ? cols_left - first % BN : 0;  // so many of the four
  if (ACCESS == Access::float4 && inside > 0) {
    update4(c, total, p.alpha, p.beta);
  }
  for (int j = 0; j < 4 && ACCESS == Access::float1; ++j) {
    if (j < inside) {
      update(c[j], total[j], p.alpha, p.beta);
    }
  }
}

}  // namespace small

// ---- The choice and the launch ----

/// Where the last round of tiles would leave SMs idle, it is divided together with a full one. Its shares are then
/// longer than a tile, so that few blocks have parts of the same.
template <class Shape>
Schedule schedule_for(const Problem& p, int sms) {
  const auto tiles = static_cast<int>(tiles_of<Shape::BM, Shape::BN>(p));
  const int k_tiles = k_tiles_of<Shape>(p);
  const int rest = tiles % sms;
  const int divided = rest == 0 || rest > sms * 15 / 16 ? 0 : std::min(tiles, rest + sms);
  const int blocks = std::min(sms, divided > 0 ? tiles * k_tiles : tiles);
  const int share = divided * k_tiles / blocks;
  return {tiles - divided, k_tiles, share, divided * k_tiles - share * blocks, blocks, nullptr, nullptr};
}

/// In cycles of an SM. The constants were fitted to measurements on an H200: docs/lab/09-every-shape.md.
template <class Shape>
double predicted_cycles(const Schedule& schedule) {
  constexpr double AREA = Shape::BM * Shape::BN / (128.0 * 256.0);
  constexpr double K_TILE = Shape::BM * Shape::BN * Shape::BK / 128.0 * Shape::CYCLES_PER_FMA;
  constexpr double STORE = 9800 * AREA + 3700;  // accumulators from all slices to C or to the workspace
  constexpr double ADD = 1600 * AREA + 230;     // sums of another share, and the wait for them
  const double k_tiles = schedule.k_tiles;
  const double share = schedule.share + std::min(schedule.longer_shares, 1);
  const double whole = ceil_div(schedule.whole, schedule.blocks) * (k_tiles * K_TILE + STORE);
  const double divided = share * K_TILE + (1 + share / k_tiles) * STORE + std::max(1.0, k_tiles / share) * ADD;
  return 17000 + whole + (share > 0 ? divided : 0.0);  // 17000: launch, code, first operands
}

template <class Shape, Access ACCESS>
void launch_tiles(const Problem& p, int sms, void* memory, cudaStream_t stream) {
  Schedule schedule = schedule_for<Shape>(p, sms);
  schedule.sums = static_cast<float4*>(memory);
  schedule.flags = reinterpret_cast<unsigned*>(schedule.sums + std::int64_t{sms} * Shape::BM * Shape::BN / 4);
  launch(every_shape_kernel<Shape, ACCESS>, schedule.blocks, dim3(Shape::THREADS), Shape::SMEM_BYTES, stream, p,
         schedule);
}

/// Whether B and C are copied and stored float by float, which takes longer by factors fitted in the same way.
bool by_float(const Problem& p) {
  return !rows_split_into_float4(p.b, p.n, p.ldb) || !rows_split_into_float4(p.c, p.n, p.ldc);
}

template <class Tile, class Scalar = Tile>
Configuration with_producers(const char* name, const Problem& problem) {
  using Shape = TileShape<Tile>;
  const int sms = current_device().multiprocessors;
  const std::size_t bytes = sms * (Shape::BM * Shape::BN + WARPS) * sizeof(float);
  const auto run = [sms](const Problem& p, void* memory, cudaStream_t stream) {
    constexpr auto BY_FLOAT = launch_tiles<TileShape<Scalar>, Access::float1>;
    (by_float(p) ? BY_FLOAT : launch_tiles<Shape, Access::float4>)(p, sms, memory, stream);
  };
  const double cycles = predicted_cycles<Shape>(schedule_for<Shape>(problem, sms));
  return {name, bytes, run, cycles * (by_float(problem) ? 1.08 : 1.0)};
}

Configuration small_tiles(const Problem& problem) {
  const auto by_float4 = [](const Problem& p) { return rows_split_into_float4(p.a, p.k, p.lda) && !by_float(p); };
  const auto run = [by_float4](const Problem& p, void*, cudaStream_t stream) {
    launch(by_float4(p) ? small::every_shape_small_kernel<Access::float4>
                        : small::every_shape_small_kernel<Access::float1>,
           tiles_of<small::BM, small::BN>(p), dim3(small::THREADS), small::SMEM_BYTES, stream, p);
  };
  const std::int64_t sms = current_device().multiprocessors;
  const auto rounds = static_cast<double>(ceil_div(tiles_of<small::BM, small::BN>(problem), sms));
  const double fmas = small::BM * small::BN / 128 * static_cast<double>(problem.k);
  // 1.81 for an FMA, 1400 for all else of a tile, and 10000 as the 17000 above.
  const double tile = by_float4(problem) ? 1.81 * fmas + 1400 : 1.13 * 1.81 * fmas + 1.95 * 1400;
  return {"32x32", 0, run, 10000 + rounds * tile + (rounds == 1 ? 0.29 * fmas : 0.0)};
}

/// The tile that is predicted to be the fastest comes first.
std::vector<Configuration> configurations(const Problem& p) {
  std::vector<Configuration> all{small_tiles(p)};
  if (current_device().compute_capability >= 90) {
    all.push_back(with_producers<Tile64x128>("64x128", p));
    all.push_back(with_producers<Tile128x128, Tile128x128Scalar>("128x128", p));
  }
  std::sort(all.begin(), all.end(),
            [](const Configuration& x, const Configuration& y) { return x.predicted_cycles < y.predicted_cycles; });
  return all;
}

KernelBlock large_block() {
  using Large = TileShape<Tile128x128>;
  return current_device().compute_capability < 90
             ? block_of(small::every_shape_small_kernel<Access::float4>, small::THREADS, small::SMEM_BYTES)
             : block_of(every_shape_kernel<Large, Access::float4>, Large::THREADS, Large::SMEM_BYTES);
}

const Registration registered = Chapter(9, "every_shape", "Osama et al., Stream-K; slices of k as in CUTLASS")
                                    .summary("a tile and a division of k for every shape, chosen by a cost model")
                                    .min_capability(80)
                                    .block(large_block, 1)
                                    .configurations(configurations);

}  // namespace
}  // namespace sgemm
