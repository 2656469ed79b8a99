// Chapter 09: every shape
//
// Against 08: one kernel does not fit all. Tiles of 128x256 leave most of the chip idle when C is small, and in the
// last wave of any C. Here k is divided as well, in two ways, and the tile is chosen for the problem.
//
//   among blocks   Stream-k: the grid has as many blocks as the chip holds. The tiles that do not fill all of them
//                  evenly are divided along k. Their k-tiles lie in a row, and each block takes an equal share of it.
//                  The accumulators of a share that begins within a tile go to the block that has the tile's
//                  beginning.
//
//                      tile    |    0    |    1    |    2    |
//                      share   |  0   |  1   |  2   |   3    |
//
//   among warps    Sliced-k: in tiles too small for eight warps of 64x64, several warps compute the same warp tile.
//                  Each takes its own slice of every k-tile, with 16x8 elements per thread, so 6 LDS.128 for 128 FMAs.
//                  Their accumulators meet in shared memory.
//
// Long sums are divided along k in any case, because shorter chains of additions are more accurate: by slices, or in
// tiles of 128x256 by computing one half after the other.
//
// The loop is that of 08. Blocks are persistent, and producer warps fetch the next tile's operands while consumers
// store the last tile's accumulators. Very small problems, and GPUs before sm_90, get blocks without producer warps.
//
// Traffic per element of C: k / BN loads of A and k / BM of B from global memory. Each share that ends within a tile
// adds one store and one load of the tile's accumulators, and so does each segment in two halves.
// Limit: issue slots, as in 08; in small problems the launch, and the latency of the first loads and the last stores.
//
// A cost model predicts which configuration is the fastest, from the number of k-tiles and stores on the busiest
// multiprocessor. `runner --kernel "9:64x64 stream-k"` runs another.

#include "common/ceil_div.hpp"
#include "common/epilogue.cuh"
#include "common/hilbert_tiling.cuh"
#include "common/keep_in_register.cuh"
#include "common/problem.hpp"
#include "common/tiling.cuh"
#include "common/vector_access.cuh"
#include "engine/stream_k.cuh"
#include "engine/warp_specialized.cuh"
#include "host/alignment.hpp"
#include "host/chapter.cuh"
#include "host/cost_model.cuh"
#include "host/launch.cuh"
#include "ptx/bar.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/shared_memory.cuh"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sgemm {
namespace {

using namespace warp_specialized;

/// Adds the accumulators of all slices, for the rows that this slice finishes.
template <class Shape>
__device__ __forceinline__ void add_slices(const float (&accumulators)[TM][TN],
                                           float (&finished)[FINISHED_ROWS<Shape>][TN]) {
  constexpr int HALF = TM / 2;          // rows that fit into the exchange memory
  constexpr int QUADS = HALF * TN / 4;  // of a thread, in the exchange memory
  constexpr int CONSUMER_BARRIER = 1;   // the number of their bar.sync
  const int slice = static_cast<int>(slice_of<Shape>(threadIdx.x));
  const int warp_of_tile = static_cast<int>(threadIdx.x) / WARP % Shape::SLICE_WARPS;
  float* const exchange = dynamic_smem() + Shape::Ring::BYTES / FLOAT_BYTES +
                          (warp_of_tile * (Shape::SLICES * QUADS) * WARP + static_cast<int>(threadIdx.x) % WARP) * 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    bar_sync(CONSUMER_BARRIER, Shape::CONSUMER_THREADS);  // the last content has been read
#pragma unroll
    for (int i = 0; i < HALF; ++i) {
#pragma unroll
      for (int j = 0; j < TN; j += 4) {
        const float(&row)[TN] = accumulators[half * HALF + i];
        store_float4(exchange + (slice * QUADS + (i * TN + j) / 4) * (4 * WARP),
                     float4{row[j], row[j + 1], row[j + 2], row[j + 3]});
      }
    }
    bar_sync(CONSUMER_BARRIER, Shape::CONSUMER_THREADS);
#pragma unroll
    for (int r = half * (FINISHED_ROWS<Shape> / 2); r < (half + 1) * (FINISHED_ROWS<Shape> / 2); ++r) {
#pragma unroll
      for (int j = 0; j < TN; j += 4) {
        const int quad = ((finished_row<Shape>(slice, r) - half * HALF) * TN + j) / 4;
        float4 total{};
#pragma unroll
        for (int s = 0; s < Shape::SLICES; ++s) {
          const float4 value = load_float4(exchange + (s * QUADS + quad) * (4 * WARP));
          total = {total.x + value.x, total.y + value.y, total.z + value.z, total.w + value.w};
        }
        finished[r][j] = total.x;
        finished[r][j + 1] = total.y;
        finished[r][j + 2] = total.z;
        finished[r][j + 3] = total.w;
      }
    }
  }
}

template <class Shape>
using PartialSumsOf = PartialSums<Shape::CONSUMER_WARPS, FINISHED_ROWS<Shape>, TN>;

/// What the library's kernels (library/) vary: the policy of the chapter is one product of operands that are not
/// transposed. ACCESS: how B is copied and C stored.
template <Access ACCESS>
struct OneProduct {
  using Problem = sgemm::Problem;  ///< what the kernel gets
  static constexpr Reading READ_A = Reading::along_k;
  static constexpr Reading READ_B = ACCESS == Access::float4 ? Reading::across_k_by_four : Reading::across_k;

  /// Fills slots with the k-tiles of a segment.
  template <class Shape>
  __device__ __forceinline__ static void produce(const Problem& p, const Segment& segment,
                                                 Producer<Shape, READ_A, READ_B>& producer) {
    producer.produce(p, tile_on_curve<Shape::BM, Shape::BN>(p, segment.tile), segment.first, segment.count);
  }

  /// Makes the sums of tile number `number` elements of C.
  template <class Shape>
  __device__ __forceinline__ static void store(const Problem& p, int number,
                                               const float (&sums)[FINISHED_ROWS<Shape>][TN]) {
    const TileOrigin tile = tile_on_curve<Shape::BM, Shape::BN>(p, number);
    const unsigned thread = keep_in_register(threadIdx.x);  // computed again, not kept through the loop
    const std::int64_t row = tile.row + row_in_tile<Shape>(thread);
    const std::int64_t col = tile.col + column_in_tile<Shape>(thread);
    const int slice = static_cast<int>(slice_of<Shape>(thread));
    if (ACCESS == Access::float4 && p.alpha == 1.0F && p.beta == 0.0F) {  // as in chapter 08
      warp_specialized::store<Shape, ACCESS, Epilogue::sums>(p, row, col, slice, sums);
    } else {
      warp_specialized::store<Shape, ACCESS, Epilogue::scaled>(p, row, col, slice, sums);
    }
  }
};

/// A segment at the beginning of its tile becomes C, together with the partial sums that other blocks have of the tile.
/// Any other segment becomes partial sums for the block that has the beginning.
template <class Shape, class Policy>
__device__ __forceinline__ void finish(const typename Policy::Problem& p, const Schedule& schedule,
                                       const Segment& segment, float (&accumulators)[FINISHED_ROWS<Shape>][TN]) {
  if (segment.first > 0) {
    PartialSumsOf<Shape>(schedule, Work::share()).publish(accumulators);
    return;
  }
  if (segment.count < schedule.k_tiles) {
    const int first_share = Work::share() + 1;
    const int end_of_tile = (segment.tile - schedule.whole + 1) * schedule.k_tiles;
    if constexpr (Shape::SLICES > 1) {
      const int lane = static_cast<int>(threadIdx.x) % WARP;
      // Each lane waits for another flag at the same time, because every look at a flag goes to the L2. Without slices
      // a tile has few shares, and these lines would cost the main loop registers.
      for (int share = first_share + lane; schedule.begin_of_share(share) < end_of_tile; share += WARP) {
        PartialSumsOf<Shape>(schedule, share).wait();
      }
      __syncwarp();
    }
#pragma unroll 1
    for (int share = first_share; schedule.begin_of_share(share) < end_of_tile; ++share) {
      if constexpr (Shape::SLICES == 1) {
        if (threadIdx.x % WARP == 0) {
          PartialSumsOf<Shape>(schedule, share).wait();
        }
        __syncwarp();
      }
      PartialSumsOf<Shape>(schedule, share).add_to(accumulators);
    }
  }
  Policy::template store<Shape>(p, segment.tile, accumulators);
}

/// Sums of more k than this are divided into at least two. They are then sqrt(2) times as accurate. Their error is
/// within 1.5 times that of cuBLAS, also where cuBLAS divides k. With whole sums in tiles of 128x256 it would be 1.8
/// times.
constexpr std::int64_t LONG_SUM = 2560;

/// The consumers of a block that computes a long segment in two parts, one after the other. The sums of the first part
/// wait in the workspace, behind the partial sums of all blocks. Both parts go through the same code, so that the main
/// loop is there only once.
template <class Shape, class Policy>
__device__ __forceinline__ void consume_in_parts(const typename Policy::Problem& p, const Schedule& schedule,
                                                 Work& work, Consumer<Shape>& consumer) {
  static_assert(Shape::PARTS == 2 && Shape::SLICES == 1);
  Segment segment{};
  int left = 0;  // k-tiles of the segment
#pragma unroll 1
  while (left > 0 || !work.done(schedule)) {
    if (left == 0) {
      segment = work.next(schedule);
      left = segment.count;
    }
    const int count = left == segment.count && left > LONG_SUM / Shape::BK ? left / 2 : left;
    float accumulators[TM][TN] = {};
    consumer.consume(count, accumulators);
    left -= count;
    if (left > 0) {
      PartialSumsOf<Shape>(schedule, static_cast<int>(gridDim.x) + Work::share()).put(accumulators);
      continue;
    }
    if (count < segment.count) {
      PartialSumsOf<Shape>(schedule, static_cast<int>(gridDim.x) + Work::share()).add_to(accumulators);
    }
    finish<Shape, Policy>(p, schedule, segment, accumulators);
  }
}

template <class Shape, class Policy>
__global__ void __launch_bounds__(Shape::THREADS, 1)
    every_shape_streamed_kernel(typename Policy::Problem p, Schedule schedule) {
  const unsigned smem = shared_address(dynamic_smem());
  Shape::Ring::init(smem, Shape::CONSUMER_WARPS, PRODUCER_THREADS);
  __syncthreads();

  Work work(schedule);
  if (threadIdx.x >= Shape::CONSUMER_THREADS) {
    setmaxnreg_dec<Shape::PRODUCER_REGISTERS>();
    Producer<Shape, Policy::READ_A, Policy::READ_B> producer(smem);
    while (!work.done(schedule)) {
      Policy::template produce<Shape>(p, work.next(schedule), producer);
    }
    return;
  }
  setmaxnreg_inc<Shape::CONSUMER_REGISTERS>();
  Consumer<Shape> consumer(smem);
  if constexpr (Shape::PARTS > 1) {
    consume_in_parts<Shape, Policy>(p, schedule, work, consumer);
  } else {
#pragma unroll 1
    while (!work.done(schedule)) {
      const Segment segment = work.next(schedule);
      float accumulators[TM][TN] = {};
      consumer.consume(segment.count, accumulators);
      if constexpr (Shape::SLICES == 1) {
        finish<Shape, Policy>(p, schedule, segment, accumulators);
      } else {
        float finished[FINISHED_ROWS<Shape>][TN];
        add_slices<Shape>(accumulators, finished);
        finish<Shape, Policy>(p, schedule, segment, finished);
      }
    }
  }
}

// ---- Blocks for small problems: all warps copy and multiply ----

/// The constants that follow from a tile's traits: WARPS_M, WARPS_N, SLICES, TM, TN, BK, SLOTS and BLOCKS_PER_SM.
/// SLICES warps share each warp tile, and each has its own slice of a k-tile. Their accumulators meet in shared memory
/// at the end.
template <class Tile>
struct SlicedShape : Tile {
  static constexpr int PARTS = 1;
  static constexpr int WM = LANES_M * Tile::TM;
  static constexpr int WN = LANES_N * Tile::TN;
  static constexpr int BM = Tile::WARPS_M * WM;
  static constexpr int BN = Tile::WARPS_N * WN;
  static constexpr int SLICE_WARPS = Tile::WARPS_M * Tile::WARPS_N;
  static constexpr int THREADS = SLICE_WARPS * Tile::SLICES * WARP;
  static constexpr int SLICE_K = Tile::BK / Tile::SLICES;
  static_assert(SLICE_K % 4 == 0);
  // Four floats of padding after each row of A: rows that neighbours read at the same time lie in different banks.
  static constexpr int A_STRIDE = Tile::BK + 4;
  static constexpr int A_FLOATS = BM * A_STRIDE;
  static constexpr int SLOT_FLOATS = A_FLOATS + Tile::BK * BN;
  static constexpr int RING_FLOATS = Tile::SLOTS * SLOT_FLOATS;
  static constexpr int EXCHANGE_FLOATS = Tile::SLICES * BM * BN;
  static constexpr int SMEM_BYTES = (RING_FLOATS > EXCHANGE_FLOATS ? RING_FLOATS : EXCHANGE_FLOATS) * FLOAT_BYTES;
};

/// Copies a tile of ROWS x COLS floats that begins at `source`. `rows_left` rows and `cols_left` columns of it lie
/// inside the matrix; all others become zeros. In shared memory rows are STRIDE floats apart.
template <int THREADS, int ROWS, int COLS, int STRIDE, Access ACCESS>
__device__ __forceinline__ void copy_tile(unsigned destination, const float* source, std::int64_t leading_dimension,
                                          int rows_left, int cols_left) {
  constexpr int WIDTH = static_cast<int>(ACCESS);
  constexpr int PER_ROW = COLS / WIDTH;
  constexpr int ROWS_AT_ONCE = THREADS / PER_ROW;
  static_assert(THREADS % PER_ROW == 0 && ROWS % ROWS_AT_ONCE == 0);
  const int row = static_cast<int>(threadIdx.x) / PER_ROW;
  const int col = static_cast<int>(threadIdx.x) % PER_ROW * WIDTH;
  source += row * leading_dimension + col;
  destination += (row * STRIDE + col) * FLOAT_BYTES;
#pragma unroll
  for (int r = 0; r < ROWS; r += ROWS_AT_ONCE) {
    cp_async_zfill<WIDTH * FLOAT_BYTES>(destination + r * STRIDE * FLOAT_BYTES, source,
                                        row + r < rows_left && col < cols_left);
    source += ROWS_AT_ONCE * leading_dimension;
  }
}

/// ACCESS_A: how A is copied. ACCESS: how B is copied and C stored.
template <class Shape, Access ACCESS_A, Access ACCESS>
__global__ void __launch_bounds__(Shape::THREADS, Shape::BLOCKS_PER_SM) every_shape_sliced_kernel(Problem p) {
  constexpr int BK = Shape::BK;
  constexpr int TM = Shape::TM;
  constexpr int TN = Shape::TN;
  const unsigned smem = shared_address(dynamic_smem());
  const TileOrigin tile = tile_of_block<Shape::BM, Shape::BN>(p);
  const int rows_left = at_most<Shape::BM>(p.m - tile.row);
  const int cols_left = at_most<Shape::BN>(p.n - tile.col);
  const float* a_source = p.a + tile.row * p.lda;
  const float* b_source = p.b + tile.col;
  int k_left = static_cast<int>(p.k);
  int copied = 0;  // the slot that is filled next
  const auto copy_k_tile = [&] {
    if (k_left > 0) {
      const unsigned to = smem + copied * (Shape::SLOT_FLOATS * FLOAT_BYTES);
      copy_tile<Shape::THREADS, Shape::BM, BK, Shape::A_STRIDE, ACCESS_A>(to, a_source, p.lda, rows_left, k_left);
      copy_tile<Shape::THREADS, BK, Shape::BN, Shape::BN, ACCESS>(to + Shape::A_FLOATS * FLOAT_BYTES, b_source, p.ldb,
                                                                  k_left, cols_left);
      a_source += BK;
      b_source += BK * p.ldb;
      k_left -= BK;
      copied = copied == Shape::SLOTS - 1 ? 0 : copied + 1;
    }
    cp_async_commit_group();
  };

  const int warp = static_cast<int>(threadIdx.x) / WARP;
  const int slice = warp / Shape::SLICE_WARPS;
  const int row_in_block =
      warp % Shape::SLICE_WARPS / Shape::WARPS_N * Shape::WM + static_cast<int>(threadIdx.x) % WARP / LANES_N;
  const int col_in_block = warp % Shape::WARPS_N * Shape::WN + static_cast<int>(threadIdx.x) % LANES_N * 4;
  const unsigned a_first = smem + (row_in_block * Shape::A_STRIDE + slice * Shape::SLICE_K) * FLOAT_BYTES;
  const unsigned b_first = smem + (Shape::A_FLOATS + slice * Shape::SLICE_K * Shape::BN + col_in_block) * FLOAT_BYTES;

  for (int slot = 0; slot < Shape::SLOTS - 1; ++slot) {
    copy_k_tile();
  }
  float accumulators[TM][TN] = {};
  unsigned read = 0;  // offset of the slot
#pragma unroll 1
  for (int left = static_cast<int>(ceil_div<std::int64_t>(p.k, BK)); left > 0; --left) {
    cp_async_wait_group<Shape::SLOTS - 2>();
    __syncthreads();
    copy_k_tile();
#pragma unroll
    for (int k = 0; k < Shape::SLICE_K; k += 4) {
      float a[TM][4];
#pragma unroll
      for (int i = 0; i < TM; ++i) {
        const float4 value = ld_shared_v4_f32(a_first + read + (i * LANES_M * Shape::A_STRIDE + k) * FLOAT_BYTES);
        a[i][0] = value.x;
        a[i][1] = value.y;
        a[i][2] = value.z;
        a[i][3] = value.w;
      }
#pragma unroll
      for (int kk = 0; kk < 4; ++kk) {
        float b[TN];
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
          const float4 value = ld_shared_v4_f32(b_first + read + ((k + kk) * Shape::BN + j * LANES_N) * FLOAT_BYTES);
          b[j] = value.x;
          b[j + 1] = value.y;
          b[j + 2] = value.z;
          b[j + 3] = value.w;
        }
#pragma unroll
        for (int i = 0; i < TM; ++i) {
#pragma unroll
          for (int j = 0; j < TN; ++j) {
            const int col = i % 2 == 0 ? j : TN - 1 - j;
            accumulators[i][col] += a[i][kk] * b[col];
          }
        }
      }
    }
    read = read == (Shape::SLOTS - 1) * Shape::SLOT_FLOATS * FLOAT_BYTES ? 0 : read + Shape::SLOT_FLOATS * FLOAT_BYTES;
  }

  cp_async_wait_group<0>();
  __syncthreads();
  float* const exchange = dynamic_smem();
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      store_float4(
          exchange + ((slice * Shape::BM + row_in_block + i * LANES_M) * Shape::BN + col_in_block + j * LANES_N),
          float4{accumulators[i][j], accumulators[i][j + 1], accumulators[i][j + 2], accumulators[i][j + 3]});
    }
  }
  __syncthreads();
  static_assert(Shape::BM * Shape::BN % (4 * Shape::THREADS) == 0);
#pragma unroll
  for (int quad = 0; quad < Shape::BM * Shape::BN / 4; quad += Shape::THREADS) {
    const int element = (quad + static_cast<int>(threadIdx.x)) * 4;
    const int row = element / Shape::BN;
    const int col = element % Shape::BN;
    float total[4] = {};
#pragma unroll
    for (int s = 0; s < Shape::SLICES; ++s) {
      const float4 value = load_float4(exchange + s * Shape::BM * Shape::BN + element);
      total[0] += value.x;
      total[1] += value.y;
      total[2] += value.z;
      total[3] += value.w;
    }
    if (row < rows_left) {
      float* const c = p.c + (tile.row + row) * p.ldc + tile.col + col;
      if constexpr (ACCESS == Access::float4) {
        if (col < cols_left) {
          update4(c, total, p.alpha, p.beta);
        }
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          if (col + j < cols_left) {
            update(c[j], total[j], p.alpha, p.beta);
          }
        }
      }
    }
  }
}

// ---- The tiles ----

// CYCLES_PER_FMA: the cycles of an FMA, on each of a multiprocessor's 128 lanes.

struct Tile128x256 : TileTraits {
  static constexpr int WARPS_M = 2, WARPS_N = 4, SLOTS = 4;
  static constexpr double CYCLES_PER_FMA = 1.20;
};
/// For long sums: about as many cycles as slices in tiles of 128x128, and three fifths of the bytes from the L2.
struct Tile128x256InHalves : Tile128x256 {
  static constexpr int PARTS = 2;
  static constexpr bool ALIGNED_B = true;
  static constexpr double CYCLES_PER_FMA = 1.215;
};
struct Tile256x128 : TileTraits {
  static constexpr int WARPS_M = 4, WARPS_N = 2, SLOTS = 4;
  static constexpr double CYCLES_PER_FMA = 1.22;
};
struct Tile128x128 : TileTraits {
  static constexpr int WARPS_M = 2, WARPS_N = 2, SLICES = 2, BK = 64, SLOTS = 2;
  static constexpr double CYCLES_PER_FMA = 1.22;
};
/// Copies of single floats take longer, so the ring has more slots.
struct Tile128x128Scalar : Tile128x128 {
  static constexpr int BK = 48, SLOTS = 3;
};
struct Tile128x64 : TileTraits {
  static constexpr int WARPS_M = 2, WARPS_N = 1, SLICES = 4, SLOTS = 6;
  static constexpr double CYCLES_PER_FMA = 1.30;
};
struct Tile64x128 : TileTraits {
  static constexpr int WARPS_M = 1, WARPS_N = 2, SLICES = 4, BK = 64, SLOTS = 3;
  static constexpr double CYCLES_PER_FMA = 1.26;
};
struct Tile64x64 : TileTraits {
  static constexpr int WARPS_M = 1, WARPS_N = 1, SLICES = 8, BK = 64, SLOTS = 4;
  static constexpr double CYCLES_PER_FMA = 1.31;
};

// ALONE: so many more cycles of an FMA where each multiprocessor has one block. BESIDE: cycles of a tile besides.
struct Sliced32x32 {
  static constexpr int WARPS_M = 1, WARPS_N = 1, SLICES = 8, TM = 8, TN = 4, BK = 64, SLOTS = 4, BLOCKS_PER_SM = 2;
  static constexpr double CYCLES_PER_FMA = 1.81, ALONE = 0.29, BESIDE = 1400;
};
struct Sliced64x32 : Sliced32x32 {
  static constexpr int WARPS_M = 2, SLICES = 4, BK = 32, BLOCKS_PER_SM = 3;
  static constexpr double CYCLES_PER_FMA = 1.78, ALONE = 0.32, BESIDE = 850;
};
struct Sliced64x64 : Sliced64x32 {
  static constexpr int TN = 8, SLOTS = 3, BLOCKS_PER_SM = 2;
  static constexpr double CYCLES_PER_FMA = 1.81, ALONE = 0.12, BESIDE = 1800;
};
struct Sliced128x128 : Sliced64x64 {
  static constexpr int WARPS_M = 4, WARPS_N = 2, SLICES = 1;
  static constexpr double CYCLES_PER_FMA = 1.54, ALONE = 0.06, BESIDE = 3000;
};

// ---- The choice ----

// The constants of the prediction, in cycles, were fitted to measurements on an H200 with a cold L2:
// docs/lab/09-every-shape.md.
constexpr double FMAS_PER_CYCLE = 128;
constexpr double LAUNCH = 17000;         // the kernel's start and end, its code and first operands
constexpr double LAUNCH_SLICED = 10000;  // the same for a smaller block, which has less of each
// Factors where rows do not split into groups of four: of all cycles of a tile with producer warps, of a sliced tile's
// FMAs, and of all else of it.
constexpr double STREAMED_BY_FLOAT = 1.08;
constexpr double SLICED_BY_FLOAT = 1.13;
constexpr double BESIDE_BY_FLOAT = 1.95;
constexpr double BLOCK = 5500;       // from the end of a block to the first product of the next one
constexpr double AREA = 128 * 256;   // elements of C for which the next two hold
constexpr double STORE = 9800;       // accumulators to C or to the workspace
constexpr double ADD = 1600;         // partial sums from the workspace
constexpr double FLAG = 230;         // additional cycles of each share of a tile
constexpr double ADD_SLICES = 3700;  // of a block

/// From this k on halves are at least as fast as slices where C has many tiles.
constexpr std::int64_t FEWEST_IN_HALVES = 8192;

/// Whether a tile fits into the device, and keeps the problem's sums short enough.
template <class Shape>
bool suits(const Problem& p, const Device& device) {
  const bool short_enough = Shape::PARTS > 1 ? p.k >= FEWEST_IN_HALVES : Shape::SLICES > 1 || p.k <= LONG_SUM;
  return Shape::SMEM_BYTES <= device.smem_bytes && short_enough;
}

/// STREAMED: all blocks that the device holds at a time share the tiles that do not fill them evenly. Otherwise each
/// tile has one block.
inline Plan plan(int tiles, int k_tiles, int multiprocessors, bool streamed) {
  if (!streamed) {
    return {Schedule::of(tiles, k_tiles, tiles, tiles), tiles};
  }
  // If fewer tiles than blocks were streamed, each tile would be divided into more shares than necessary.
  const int rest = tiles % multiprocessors;
  const int shared = rest == 0 ? 0 : tiles < multiprocessors ? tiles : rest + multiprocessors;
  const int blocks = tiles < multiprocessors ? std::min(multiprocessors, tiles * k_tiles) : multiprocessors;
  return {Schedule::of(tiles, k_tiles, tiles - shared, blocks), blocks};
}

template <class Shape>
double predicted_cycles(const Plan& work, int multiprocessors, bool streamed,
                        double cycles_per_fma = Shape::CYCLES_PER_FMA) {
  const double area = Shape::BM * Shape::BN / AREA;
  TileCost tile{};
  tile.k_tile = Shape::BM * Shape::BN * Shape::BK / FMAS_PER_CYCLE * cycles_per_fma;
  tile.store = STORE * area + (Shape::SLICES > 1 ? ADD_SLICES : 0.0) + (Shape::PARTS - 1) * (STORE + ADD) * area;
  tile.add = ADD * area + FLAG;
  return LAUNCH + (streamed
                       ? whole_tiles_cycles(work, tile) + share_cycles(work, tile)
                       : ceil_div(work.blocks, multiprocessors) * (whole_tiles_cycles(work, tile) + BLOCK) - BLOCK);
}

template <class Shape>
std::string name_of(bool streamed) {
  return tile_name(Shape::BM, Shape::BN, streamed) + (Shape::PARTS > 1 ? " in halves" : "");
}

template <class Shape>
using SharesMemoryOf = SharesMemory<Shape::CONSUMER_WARPS, FINISHED_ROWS<Shape>, TN>;

/// How many shares' sums the workspace holds: those of each block, and of the first part of its segment.
template <class Shape>
int shares_of(int multiprocessors) {
  return multiprocessors * Shape::PARTS;
}

/// The predicted cycles of so many tiles whose warps all copy and multiply. `more` are further cycles of each.
template <class Shape>
double sliced_cycles(std::int64_t tiles, std::int64_t k, int multiprocessors, bool by_float, double more = 0) {
  const auto rounds = static_cast<double>(ceil_div<std::int64_t>(tiles, multiprocessors));
  const double fmas = Shape::BM * Shape::BN * static_cast<double>(k) / FMAS_PER_CYCLE;
  const double tile = fmas * Shape::CYCLES_PER_FMA * (by_float ? SLICED_BY_FLOAT : 1.0) +
                      Shape::BESIDE * (by_float ? BESIDE_BY_FLOAT : 1.0) + more;
  return LAUNCH_SLICED + rounds * tile + (rounds == 1 ? fmas * Shape::ALONE : 0.0);
}

#ifndef SGEMM_MAIN_LOOP_ONLY

/// Whether a problem's A, or its B and C, are copied float by float.
bool a_by_float(const Problem& p) { return !rows_split_into_float4(p.a, p.k, p.lda); }
bool bc_by_float(const Problem& p) {
  return !rows_split_into_float4(p.b, p.n, p.ldb) || !rows_split_into_float4(p.c, p.n, p.ldc);
}

template <class Shape>
Plan plan_for(const Problem& p, int multiprocessors, bool streamed) {
  return plan(static_cast<int>(tiles_of<Shape::BM, Shape::BN>(p)), k_tiles_of<Shape>(p), multiprocessors, streamed);
}

template <class Shape, Access ACCESS>
void launch_streamed(const Problem& p, int multiprocessors, bool streamed, void* workspace, cudaStream_t stream) {
  Plan work = plan_for<Shape>(p, multiprocessors, streamed);
  if (workspace != nullptr) {
    SharesMemoryOf<Shape>::place(work.schedule, workspace, shares_of<Shape>(multiprocessors));
  }
  launch(every_shape_streamed_kernel<Shape, OneProduct<ACCESS>>, work.blocks, dim3(Shape::THREADS), Shape::SMEM_BYTES,
         stream, p, work.schedule);
}

/// Adds a tile with producer and consumer warps. If rows do not split into groups of four, the tile may have another
/// ring, that of Scalar.
template <class Shape, class Scalar = Shape>
void add_warp_specialized(std::vector<Candidate>& candidates, const Problem& p, const Device& device, bool streamed) {
  if (!suits<Shape>(p, device)) {
    return;
  }
  const auto run = [=, multiprocessors = device.multiprocessors](const Problem& problem, void* workspace,
                                                                 cudaStream_t stream) {
    (bc_by_float(problem)
         ? launch_streamed<Scalar, Access::float1>
         : launch_streamed<Shape, Access::float4>)(problem, multiprocessors, streamed, workspace, stream);
  };
  const Plan work = plan_for<Shape>(p, device.multiprocessors, streamed);
  Configuration configuration{name_of<Shape>(streamed), 0, run};
  if (streamed) {
    const int shares = shares_of<Shape>(device.multiprocessors);
    configuration.workspace_bytes = SharesMemoryOf<Shape>::bytes(shares);
    configuration.zeroed_bytes = SharesMemoryOf<Shape>::sums_at(shares);
  }
  candidates.push_back({configuration, predicted_cycles<Shape>(work, device.multiprocessors, streamed) *
                                           (bc_by_float(p) ? STREAMED_BY_FLOAT : 1.0)});
}

/// Adds a tile whose warps all copy and multiply, for any GPU.
template <class Shape>
void add_sliced(std::vector<Candidate>& candidates, const Problem& p, const Device& device) {
  if (!suits<Shape>(p, device)) {
    return;
  }
  const auto run = [](const Problem& problem, void*, cudaStream_t stream) {
    const bool a = a_by_float(problem);
    const auto kernel = bc_by_float(problem) ? a ? every_shape_sliced_kernel<Shape, Access::float1, Access::float1>
                                                 : every_shape_sliced_kernel<Shape, Access::float4, Access::float1>
                        : a ? every_shape_sliced_kernel<Shape, Access::float1, Access::float4>
                                             : every_shape_sliced_kernel<Shape, Access::float4, Access::float4>;
    launch(kernel, tiles_of<Shape::BM, Shape::BN>(problem), dim3(Shape::THREADS), Shape::SMEM_BYTES, stream, problem);
  };
  candidates.push_back({{tile_name(Shape::BM, Shape::BN) + " sliced", 0, run},
                        sliced_cycles<Shape>(tiles_of<Shape::BM, Shape::BN>(p), p.k, device.multiprocessors,
                                             a_by_float(p) || bc_by_float(p))});
}

/// The configurations that are worth trying for a problem. The one with the shortest predicted time comes first.
std::vector<Configuration> configurations(const Problem& p) {
  constexpr double HOPELESS = 1.6;  // times the prediction of the first one
  const Device device = current_device();
  std::vector<Candidate> candidates;
  add_sliced<SlicedShape<Sliced32x32>>(candidates, p, device);
  add_sliced<SlicedShape<Sliced64x32>>(candidates, p, device);
  add_sliced<SlicedShape<Sliced64x64>>(candidates, p, device);
  add_sliced<SlicedShape<Sliced128x128>>(candidates, p, device);
  if (device.compute_capability >= 90) {
    for (const bool streamed : {true, false}) {
      add_warp_specialized<TileShape<Tile128x256>>(candidates, p, device, streamed);
      add_warp_specialized<TileShape<Tile256x128>>(candidates, p, device, streamed);
      add_warp_specialized<TileShape<Tile128x128>, TileShape<Tile128x128Scalar>>(candidates, p, device, streamed);
      add_warp_specialized<TileShape<Tile128x64>>(candidates, p, device, streamed);
      add_warp_specialized<TileShape<Tile64x128>>(candidates, p, device, streamed);
      add_warp_specialized<TileShape<Tile64x64>>(candidates, p, device, streamed);
    }
    add_warp_specialized<TileShape<Tile128x256InHalves>>(candidates, p, device, true);  // its sums need a workspace
  }
  return fastest_first(std::move(candidates), HOPELESS);
}

const Registration registered =
    Chapter(9, "every_shape")
        .summary("a tile and a division of k for every shape, chosen by a cost model")
        .source("Osama et al., Stream-K; slices of k as in CUTLASS")
        .min_compute_capability(80)
        .configurations(configurations)
        .blocks_per_sm(1)
        .resources([] {
          using Large = TileShape<Tile128x128>;
          using Portable = SlicedShape<Sliced64x64>;
          return current_device().smem_bytes < Large::SMEM_BYTES
                     ? resources_of(every_shape_sliced_kernel<Portable, Access::float4, Access::float4>,
                                    Portable::THREADS, Portable::SMEM_BYTES)
                     : resources_of(every_shape_streamed_kernel<Large, OneProduct<Access::float4>>, Large::THREADS,
                                    Large::SMEM_BYTES);
        })
        .registration();

#endif

}  // namespace
}  // namespace sgemm
