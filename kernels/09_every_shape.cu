// Chapter 09: every shape
//
// Against 08: one kernel does not fit all. Tiles of 128x256 leave most of the chip idle when C is small, and in the
// last wave of any C. Here k is split as well, in two ways, and the tile is chosen for the problem.
//
//   among blocks   Stream-k: as many blocks as the chip holds. The tiles that do not fill all of them evenly are cut
//                  along k. Their stages lie in a row, and each block takes an equal share of it. The sums of a share
//                  that begins within a tile go to the block that has the tile's beginning.
//
//                      tile    |    0    |    1    |    2    |
//                      share   |  0   |  1   |  2   |   3    |
//
//   among warps    Slices: in tiles too small for eight warps of 64x64, several warps compute the same part of a tile,
//                  each for its own k of every stage. That is still 16x8 per thread, so 6 LDS.128 for 128 FMAs. Their
//                  sums meet in shared memory.
//
// The loop is that of 08. Blocks stay, and the copying warps fetch the next tile's operands while the last one's sums
// are stored. For very small problems, and on GPUs before sm_90, there are blocks without copying warps.
//
// Traffic per element of C: as the tile has it, k / BN of A and k / BM of B from global memory, and for each share that
// ends within a tile one store and one load of the tile's sums.
// Limit: issue slots, as in 08; in small problems the launch, the first operands' way and the way of the sums.
//
// Which way is the fastest is predicted from the number of stages and stores on the busiest multiprocessor; `runner
// --tune --kernel 9` measures instead.

#include "common/ceil_div.hpp"
#include "common/epilogue.cuh"
#include "common/keep_in_register.cuh"
#include "common/problem.hpp"
#include "common/tiling.cuh"
#include "common/vector_access.cuh"
#include "engine/stream_k.cuh"
#include "engine/warp_specialized.cuh"
#include "host/chapter.cuh"
#include "host/launch.cuh"
#include "ptx/bar.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/shared_memory.cuh"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sgemm {
namespace {

using namespace warp_specialized;

/// Adds the sums of all slices into those of the rows that this slice finishes.
template <class Shape>
__device__ __forceinline__ void add_slices(const float (&sums)[TM][Shape::TN],
                                           float (&finished)[FINISHED_ROWS<Shape>][Shape::TN]) {
  constexpr int TN = Shape::TN;
  constexpr int HALF = TM / 2;          // rows that fit into the exchange memory
  constexpr int QUADS = HALF * TN / 4;  // of a thread, there
  constexpr int MATH_BARRIER = 1;       // of the multiplying warps
  const int slice = static_cast<int>(slice_of<Shape>(threadIdx.x));
  const int warp_of_tile = static_cast<int>(threadIdx.x) / WARP % Shape::TILE_WARPS;
  float* const exchange = dynamic_smem() + (Shape::RING_BYTES + Shape::BARRIER_BYTES) / FLOAT_BYTES +
                          (warp_of_tile * (Shape::SLICES * QUADS) * WARP + static_cast<int>(threadIdx.x) % WARP) * 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    bar_sync(MATH_BARRIER, Shape::MATH_THREADS);  // what was there has been read
#pragma unroll
    for (int i = 0; i < HALF; ++i) {
#pragma unroll
      for (int j = 0; j < TN; j += 4) {
        const float(&row)[TN] = sums[half * HALF + i];
        store_float4(exchange + (slice * QUADS + (i * TN + j) / 4) * (4 * WARP),
                     float4{row[j], row[j + 1], row[j + 2], row[j + 3]});
      }
    }
    bar_sync(MATH_BARRIER, Shape::MATH_THREADS);
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
using PartialSumsOf = PartialSums<Shape::MATH_WARPS, FINISHED_ROWS<Shape>, Shape::TN>;

/// What becomes of a segment's sums: of a tile's beginning, C, together with what other blocks have of the tile; of
/// another part, sums for the block that has the beginning.
template <class Shape, bool VECTOR>
__device__ __forceinline__ void finish(const Problem& p, const Schedule& schedule, const Segment& segment,
                                       float (&sums)[FINISHED_ROWS<Shape>][Shape::TN]) {
  if (segment.first > 0) {
    PartialSumsOf<Shape>(schedule, Work::share()).publish(sums);
    return;
  }
  if (segment.count < schedule.stages) {
    const int first_share = Work::share() + 1;
    const int end_of_tile = (segment.tile - schedule.whole + 1) * schedule.stages;
    if constexpr (Shape::SLICES > 1) {
      const int lane = static_cast<int>(threadIdx.x) % WARP;
      // All flags at the same time, a lane each: every look at one is a trip to the L2. Without slices, parts are few
      // and these lines would change the registers of the main loop for the worse.
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
      PartialSumsOf<Shape>(schedule, share).add_to(sums);
    }
  }
  const TileOrigin tile = tile_at<Shape>(p, segment.tile);
  const unsigned thread = keep_in_register(threadIdx.x);  // computed again rather than kept through the loop
  const std::int64_t row = tile.row + row_in_tile<Shape>(thread);
  const std::int64_t col = tile.col + column_in_tile<Shape>(thread);
  const int slice = static_cast<int>(slice_of<Shape>(thread));
  if (VECTOR && p.alpha == 1.0F && p.beta == 0.0F) {  // as in chapter 08
    store<Shape, VECTOR, true>(p, row, col, slice, sums);
  } else {
    store<Shape, VECTOR, false>(p, row, col, slice, sums);
  }
}

/// VECTOR: rows of B and C split into aligned groups of four.
template <class Shape, bool VECTOR>
__global__ void __launch_bounds__(Shape::THREADS, 1) every_shape_streamed_kernel(Problem p, Schedule schedule) {
  const unsigned ring = shared_address(dynamic_smem());
  init_ring<Shape>(ring);
  __syncthreads();

  Work work(schedule);
  if (threadIdx.x >= Shape::MATH_THREADS) {
    setmaxnreg_dec<Shape::COPY_REGISTERS>();
    Copier<Shape, VECTOR> copier(ring);
    while (!work.done(schedule)) {
      const Segment segment = work.next(schedule);
      copier.copy(p, tile_at<Shape>(p, segment.tile), segment.first, segment.count);
    }
    return;
  }
  setmaxnreg_inc<Shape::MATH_REGISTERS>();
  Multiplier<Shape, FmaOrder::alternating_banks> multiplier(ring);
#pragma unroll 1
  while (!work.done(schedule)) {
    const Segment segment = work.next(schedule);
    float sums[TM][Shape::TN] = {};
    multiplier.multiply(segment.count, sums);
    if constexpr (Shape::SLICES == 1) {
      finish<Shape, VECTOR>(p, schedule, segment, sums);
    } else {
      float finished[FINISHED_ROWS<Shape>][Shape::TN];
      add_slices<Shape>(sums, finished);
      finish<Shape, VECTOR>(p, schedule, segment, finished);
    }
  }
}

/// Blocks for small problems: all warps copy and multiply, and SLICES of them share each part of the tile, every one
/// for its own k of a stage. Their sums meet in shared memory at the end.
template <int WARPS_M_, int WARPS_N_, int SLICES_, int TM_, int TN_, int BK_, int STAGES_, int BLOCKS_PER_SM_>
struct SlicedShape {
  static constexpr int WARPS_N = WARPS_N_;
  static constexpr int TILE_WARPS = WARPS_M_ * WARPS_N_;
  static constexpr int SLICES = SLICES_;
  static constexpr int TM = TM_;
  static constexpr int TN = TN_;
  static constexpr int BK = BK_;
  static constexpr int STAGES = STAGES_;
  static constexpr int BLOCKS_PER_SM = BLOCKS_PER_SM_;
  static constexpr int WM = LANES_M * TM;
  static constexpr int WN = LANES_N * TN;
  static constexpr int BM = WARPS_M_ * WM;
  static constexpr int BN = WARPS_N * WN;
  static constexpr int THREADS = TILE_WARPS * SLICES * WARP;
  static constexpr int SLICE_K = BK / SLICES;
  static_assert(SLICE_K % 4 == 0);
  // Four floats of padding after each row of A: rows that neighbours read at the same time lie in different banks.
  static constexpr int A_STRIDE = BK + 4;
  static constexpr int A_FLOATS = BM * A_STRIDE;
  static constexpr int STAGE_FLOATS = A_FLOATS + BK * BN;
  static constexpr int SUMS_FLOATS = SLICES * BM * BN;
  static constexpr int SMEM_BYTES =
      (STAGES * STAGE_FLOATS > SUMS_FLOATS ? STAGES * STAGE_FLOATS : SUMS_FLOATS) * FLOAT_BYTES;
};

/// Copies a tile of ROWS x COLS floats that begins at `source`, of which `rows_left` rows and `cols_left` columns lie
/// inside the matrix; the others become zeros. In shared memory rows are STRIDE floats apart.
template <int THREADS, int ROWS, int COLS, int STRIDE, bool VECTOR>
__device__ __forceinline__ void copy_tile(unsigned destination, const float* source, std::int64_t leading_dimension,
                                          int rows_left, int cols_left) {
  constexpr int WIDTH = VECTOR ? 4 : 1;
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

/// VECTOR_A, VECTOR: rows of A, and of B and C, split into aligned groups of four.
template <class Shape, bool VECTOR_A, bool VECTOR>
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
  int copied = 0;  // the stage that is copied next
  const auto copy_stage = [&] {
    if (k_left > 0) {
      const unsigned to = smem + copied * (Shape::STAGE_FLOATS * FLOAT_BYTES);
      copy_tile<Shape::THREADS, Shape::BM, BK, Shape::A_STRIDE, VECTOR_A>(to, a_source, p.lda, rows_left, k_left);
      copy_tile<Shape::THREADS, BK, Shape::BN, Shape::BN, VECTOR>(to + Shape::A_FLOATS * FLOAT_BYTES, b_source, p.ldb,
                                                                  k_left, cols_left);
      a_source += BK;
      b_source += BK * p.ldb;
      k_left -= BK;
      copied = copied == Shape::STAGES - 1 ? 0 : copied + 1;
    }
    cp_async_commit_group();
  };

  const int warp = static_cast<int>(threadIdx.x) / WARP;
  const int slice = warp / Shape::TILE_WARPS;
  const int row_in_block =
      warp % Shape::TILE_WARPS / Shape::WARPS_N * Shape::WM + static_cast<int>(threadIdx.x) % WARP / LANES_N;
  const int col_in_block = warp % Shape::WARPS_N * Shape::WN + static_cast<int>(threadIdx.x) % LANES_N * 4;
  const unsigned a_first = smem + (row_in_block * Shape::A_STRIDE + slice * Shape::SLICE_K) * FLOAT_BYTES;
  const unsigned b_first = smem + (Shape::A_FLOATS + slice * Shape::SLICE_K * Shape::BN + col_in_block) * FLOAT_BYTES;

  for (int stage = 0; stage < Shape::STAGES - 1; ++stage) {
    copy_stage();
  }
  float sums[TM][TN] = {};
  unsigned read = 0;  // offset of the stage
#pragma unroll 1
  for (int left = static_cast<int>(ceil_div<std::int64_t>(p.k, BK)); left > 0; --left) {
    cp_async_wait_group<Shape::STAGES - 2>();
    __syncthreads();
    copy_stage();
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
            sums[i][col] += a[i][kk] * b[col];
          }
        }
      }
    }
    read =
        read == (Shape::STAGES - 1) * Shape::STAGE_FLOATS * FLOAT_BYTES ? 0 : read + Shape::STAGE_FLOATS * FLOAT_BYTES;
  }

  cp_async_wait_group<0>();
  __syncthreads();
  float* const slice_sums = dynamic_smem();
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      store_float4(
          slice_sums + ((slice * Shape::BM + row_in_block + i * LANES_M) * Shape::BN + col_in_block + j * LANES_N),
          float4{sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]});
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
      const float4 value = load_float4(slice_sums + s * Shape::BM * Shape::BN + element);
      total[0] += value.x;
      total[1] += value.y;
      total[2] += value.z;
      total[3] += value.w;
    }
    if (row < rows_left) {
      float* const c = p.c + (tile.row + row) * p.ldc + tile.col + col;
      if constexpr (VECTOR) {
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

// ---- The choice ----

/// A way to compute the problem, and how many cycles of a multiprocessor's clock it is predicted to take.
struct Candidate {
  Configuration configuration;
  double cycles;
  int slices;  ///< among which each sum over k is divided
  int smem_bytes;
};

// The prediction: measured on an H200 with a cold L2 and fitted, docs/lab/09-every-shape.md. Cycles.
constexpr double FMAS_PER_CYCLE = 128;
constexpr double LAUNCH = 17000;        // the kernel's start and end, its code and first operands
constexpr double LAUNCH_SLICED = 9800;  // of which there is less, for a smaller block
constexpr double BLOCK = 5500;          // from the end of a block to the first product of the next one
constexpr double AREA = 128 * 256;      // elements of C, to which the next three belong
constexpr double STORE = 9800;          // sums to C or to the workspace
constexpr double STORE_SLICED = 6500;
constexpr double ADD = 1600;         // sums from the workspace
constexpr double FLAG = 230;         // what each part of a tile takes beyond that
constexpr double ADD_SLICES = 3700;  // of a block

/// What the choice depends on besides the problem.
struct Device {
  int multiprocessors = 0;
  int compute_capability = 0;
  int smem_bytes = 0;  ///< of a block, at most
};

Device current_device() {
  int index = 0;
  CUDA_CHECK(cudaGetDevice(&index));
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&value, which, index));
    return value;
  };
  return {attribute(cudaDevAttrMultiProcessorCount),
          10 * attribute(cudaDevAttrComputeCapabilityMajor) + attribute(cudaDevAttrComputeCapabilityMinor),
          attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)};
}

template <class Shape>
std::string tile_name() {
  return std::to_string(Shape::BM) + "x" + std::to_string(Shape::BN);
}

/// How the tiles of a problem are cut up for so many blocks, without the workspace.
struct Cut {
  int blocks;
  int most_blocks;  ///< that any problem is cut up for
  Schedule schedule;
};

/// STREAMED: all blocks that the device holds at a time share the tiles that do not fill them evenly. Otherwise one
/// block for each tile.
template <class Shape>
Cut cut(const Problem& p, int multiprocessors, bool streamed) {
  const int tiles = static_cast<int>(tiles_of<Shape::BM, Shape::BN>(p));
  const int stages = stages_of<Shape>(p);
  if (!streamed) {
    return {tiles, multiprocessors, Schedule::of(tiles, stages, tiles, tiles)};
  }
  // With less than a tile for each block in the streamed part, tiles would be cut into more parts than need be.
  const int rest = tiles % multiprocessors;
  const int shared = rest == 0 ? 0 : tiles < multiprocessors ? tiles : rest + multiprocessors;
  const int blocks = tiles < multiprocessors ? std::min(multiprocessors, tiles * stages) : multiprocessors;
  return {blocks, multiprocessors, Schedule::of(tiles, stages, tiles - shared, blocks)};
}

template <class Shape>
using SharesMemoryOf = SharesMemory<Shape::MATH_WARPS, FINISHED_ROWS<Shape>, Shape::TN>;

template <class Shape, bool VECTOR>
void launch_streamed(const Problem& p, Cut work, void* workspace, cudaStream_t stream) {
  if (workspace != nullptr) {
    SharesMemoryOf<Shape>::place(work.schedule, workspace, work.most_blocks);
  }
  launch(every_shape_streamed_kernel<Shape, VECTOR>, work.blocks, dim3(Shape::THREADS), Shape::SMEM_BYTES, stream, p,
         work.schedule);
}

/// With warps that only copy. An FMA for each of a multiprocessor's 128 lanes takes `cycles_per_fma`. Where rows do not
/// split into groups of four the tile may want another ring, Scalar's.
template <class Shape, class Scalar = Shape>
Candidate warp_specialized_candidate(const Problem& p, const Device& device, double cycles_per_fma, bool streamed) {
  const int most_blocks = device.multiprocessors;
  const auto run = [=](const Problem& problem, void* workspace, cudaStream_t stream) {
    const bool vector_access = rows_split_into_float4(problem.b, problem.n, problem.ldb) &&
                               rows_split_into_float4(problem.c, problem.n, problem.ldc);
    if (vector_access) {
      launch_streamed<Shape, true>(problem, cut<Shape>(problem, most_blocks, streamed), workspace, stream);
    } else {
      launch_streamed<Scalar, false>(problem, cut<Scalar>(problem, most_blocks, streamed), workspace, stream);
    }
  };
  const Cut work = cut<Shape>(p, most_blocks, streamed);
  const Schedule& schedule = work.schedule;
  const double area = Shape::BM * Shape::BN / AREA;
  const double stage = Shape::BM * Shape::BN * Shape::BK / FMAS_PER_CYCLE * cycles_per_fma;
  const double store = STORE * area + (Shape::SLICES > 1 ? ADD_SLICES : 0.0);
  const double whole_tile = schedule.stages * stage + store;
  double cycles = LAUNCH;
  if (streamed) {
    cycles += schedule.whole / work.blocks * whole_tile;
    if (schedule.share > 0) {
      const double share = schedule.share + (schedule.longer_shares > 0 ? 1.0 : 0.0);
      const double parts = std::max(1.0, schedule.stages / share);  // of a tile
      cycles += share * stage + (1.0 + share / schedule.stages) * store + parts * (ADD * area + FLAG);
    }
  } else {
    cycles += ceil_div(work.blocks, most_blocks) * (whole_tile + BLOCK) - BLOCK;
  }
  return {{tile_name<Shape>() + (streamed ? " stream-k" : ""), streamed ? SharesMemoryOf<Shape>::bytes(most_blocks) : 0,
           run},
          cycles,
          Shape::SLICES,
          Shape::SMEM_BYTES};
}

/// With all warps alike: the portable ones.
template <class Shape>
Candidate sliced_candidate(const Problem& p, const Device& device, double cycles_per_fma) {
  const auto run = [](const Problem& problem, void*, cudaStream_t stream) {
    const bool a = rows_split_into_float4(problem.a, problem.k, problem.lda);
    const bool bc = rows_split_into_float4(problem.b, problem.n, problem.ldb) &&
                    rows_split_into_float4(problem.c, problem.n, problem.ldc);
    const auto kernel =
        bc  ? a ? every_shape_sliced_kernel<Shape, true, true> : every_shape_sliced_kernel<Shape, false, true>
         : a ? every_shape_sliced_kernel<Shape, true, false>
            : every_shape_sliced_kernel<Shape, false, false>;
    launch(kernel, tiles_of<Shape::BM, Shape::BN>(problem), dim3(Shape::THREADS), Shape::SMEM_BYTES, stream, problem);
  };
  const double area = Shape::BM * Shape::BN / AREA;
  const double tile =
      Shape::BM * Shape::BN * static_cast<double>(p.k) / FMAS_PER_CYCLE * cycles_per_fma + STORE_SLICED * area;
  const auto rounds =
      static_cast<double>(ceil_div<std::int64_t>(tiles_of<Shape::BM, Shape::BN>(p), device.multiprocessors));
  return {{tile_name<Shape>() + " sliced", 0, run}, LAUNCH_SLICED + rounds * tile, Shape::SLICES, Shape::SMEM_BYTES};
}

using Tile128x256 = TileShape<2, 4, 8, 4, 8, 72>;
using Tile256x128 = TileShape<4, 2, 8, 4, 8, 72>;
using Tile128x128 = TileShape<2, 2, 8, 2, 8, 72, 2, 64>;
using Tile128x128Scalar = TileShape<2, 2, 8, 3, 8, 72, 2, 48>;  // copies take longer there: more stages
using Tile128x64 = TileShape<2, 1, 8, 6, 8, 72, 4, 32>;
using Tile64x128 = TileShape<1, 2, 8, 3, 8, 72, 4, 64>;
using Tile64x64 = TileShape<1, 1, 8, 4, 8, 72, 8, 64>;
using Sliced32x32 = SlicedShape<1, 1, 8, 8, 4, 64, 4, 2>;
using Sliced64x32 = SlicedShape<2, 1, 4, 8, 4, 32, 4, 3>;
using Sliced64x64 = SlicedShape<2, 1, 4, 8, 8, 32, 3, 2>;
using Sliced128x128 = SlicedShape<4, 2, 1, 8, 8, 32, 3, 2>;

/// From here on a sum over k has to be divided among two slices at least. It is then sqrt(2) times as accurate, and
/// within 1.5 of cuBLAS where that splits k as well; tiles of 128x256 would be at 1.8, and 1 % faster.
constexpr std::int64_t LONG_SUM = 2560;

/// What is worth trying for a problem, the fastest by prediction first.
std::vector<Configuration> configurations(const Problem& p) {
  constexpr double HOPELESS = 1.6;  // times what is predicted for the first
  const Device device = current_device();
  std::vector<Candidate> candidates{
      sliced_candidate<Sliced32x32>(p, device, 1.85), sliced_candidate<Sliced64x32>(p, device, 1.85),
      sliced_candidate<Sliced64x64>(p, device, 1.87), sliced_candidate<Sliced128x128>(p, device, 1.51)};
  if (device.compute_capability >= 90) {
    for (const bool streamed : {true, false}) {
      candidates.push_back(warp_specialized_candidate<Tile128x256>(p, device, 1.20, streamed));
      candidates.push_back(warp_specialized_candidate<Tile256x128>(p, device, 1.22, streamed));
      candidates.push_back(warp_specialized_candidate<Tile128x128, Tile128x128Scalar>(p, device, 1.22, streamed));
      candidates.push_back(warp_specialized_candidate<Tile128x64>(p, device, 1.30, streamed));
      candidates.push_back(warp_specialized_candidate<Tile64x128>(p, device, 1.26, streamed));
      candidates.push_back(warp_specialized_candidate<Tile64x64>(p, device, 1.31, streamed));
    }
  }
  candidates.erase(std::remove_if(candidates.begin(), candidates.end(),
                                  [&](const Candidate& x) {
                                    return x.smem_bytes > device.smem_bytes || (p.k > LONG_SUM && x.slices == 1);
                                  }),
                   candidates.end());
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& x, const Candidate& y) { return x.cycles < y.cycles; });
  std::vector<Configuration> worth_trying;
  for (const Candidate& candidate : candidates) {
    if (candidate.cycles <= HOPELESS * candidates.front().cycles) {
      worth_trying.push_back(candidate.configuration);
    }
  }
  return worth_trying;
}

const Registration registered =
    Chapter(9, "every_shape")
        .summary("every shape: the tile, and how k is split among blocks and warps, chosen by prediction or --tune")
        .source("Osama et al., Stream-K; slices of k as in CUTLASS")
        .min_compute_capability(80)
        .configurations(configurations)
        .blocks_per_sm(1)
        .resources([] {
          return current_device().smem_bytes < Tile128x128::SMEM_BYTES
                     ? resources_of(every_shape_sliced_kernel<Sliced64x64, true, true>, Sliced64x64::THREADS,
                                    Sliced64x64::SMEM_BYTES)
                     : resources_of(every_shape_streamed_kernel<Tile128x128, true>, Tile128x128::THREADS,
                                    Tile128x128::SMEM_BYTES);
        })
        .registration();

}  // namespace
}  // namespace sgemm
