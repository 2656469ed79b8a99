// Chapter 09: every shape
//
// @@HEADER@@

#include "async_copy.cuh"
#include "ceil_div.hpp"
#include "chapter.cuh"
#include "dynamic_smem.cuh"
#include "epilogue.cuh"
#include "global_flag.cuh"
#include "hilbert.hpp"
#include "named_barrier.cuh"
#include "problem.hpp"
#include "registers.cuh"
#include "tiling.cuh"
#include "vector_access.cuh"
#include "warp_specialized.cuh"

namespace sgemm {
namespace {

using namespace warp_specialized;

/// Which block computes what. The tiles of C lie along the Hilbert curve. Of the last `streamed` ones the stages are
/// dealt out to all blocks in equal, contiguous shares, so that a share may begin and end within a tile; the `whole`
/// ones before them are computed from end to end, by one block after the other.
struct Schedule {
  int whole;
  int streamed;
  int stages;         ///< of a tile
  int share;          ///< stages of a block's share, or one less:
  int longer_shares;  ///< how many of the shares, the first ones, have one stage more
  // Sums of parts of tiles, and flags that tell that they are there, for each share.
  float4* sums;
  unsigned* flags;

  /// The stage at which share number `index` begins, counted from the first streamed tile on.
  __device__ int begin_of_share(int index) const {
    return index * share + (index < longer_shares ? index : longer_shares);
  }
};

/// Consecutive stages of one tile.
struct Segment {
  int tile;
  int first;
  int count;
};

/// What a block computes, segment by segment: first its share of the streamed tiles.
class Work {
 public:
  __device__ __forceinline__ explicit Work(const Schedule& schedule)
      : at_(schedule.begin_of_share(share())), end_(schedule.begin_of_share(share() + 1)), next_whole_(blockIdx.x) {}

  /// The number of the block's share. Shares are dealt from the last block to the first: a block waits for those that
  /// have the rest of its tile, and they were started before it.
  __device__ static int share() { return static_cast<int>(gridDim.x - 1 - blockIdx.x); }

  __device__ bool done(const Schedule& schedule) const { return at_ == end_ && next_whole_ >= schedule.whole; }

  __device__ __forceinline__ Segment next(const Schedule& schedule) {
    if (at_ == end_) {
      const Segment segment{next_whole_, 0, schedule.stages};
      next_whole_ += static_cast<int>(gridDim.x);
      return segment;
    }
    const int tile = at_ / schedule.stages;
    const int first = at_ - tile * schedule.stages;
    const int count = min(schedule.stages - first, end_ - at_);
    at_ += count;
    return {schedule.whole + tile, first, count};
  }

 private:
  int at_;
  int end_;
  int next_whole_;
};

template <class Shape>
__device__ __forceinline__ TileOrigin tile_at(const Problem& p, int tile) {
  const TileIndex index = hilbert_tile(tile, static_cast<int>(ceil_div<std::int64_t>(p.m, Shape::BM)),
                                       static_cast<int>(ceil_div<std::int64_t>(p.n, Shape::BN)));
  return {static_cast<std::int64_t>(index.row) * Shape::BM, static_cast<std::int64_t>(index.col) * Shape::BN};
}

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
    named_barrier_sync(MATH_BARRIER, Shape::MATH_THREADS);  // what was there has been read
#pragma unroll
    for (int i = 0; i < HALF; ++i) {
#pragma unroll
      for (int j = 0; j < TN; j += 4) {
        const float(&row)[TN] = sums[half * HALF + i];
        store_float4(exchange + (slice * QUADS + (i * TN + j) / 4) * (4 * WARP),
                     float4{row[j], row[j + 1], row[j + 2], row[j + 3]});
      }
    }
    named_barrier_sync(MATH_BARRIER, Shape::MATH_THREADS);
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

/// The sums of the part of a tile that one share has, for the block that has the tile's beginning. Each multiplying
/// warp hands its own over, to the warp of the same number, with a flag of its own.
template <class Shape>
class PartialSums {
 public:
  __device__ __forceinline__ PartialSums(const Schedule& schedule, int share)
      : sums_(schedule.sums + warp(share) * (ROWS * TN / 4 * WARP) + threadIdx.x % WARP),
        flag_(schedule.flags + warp(share)) {}

  __device__ __forceinline__ void wait() const { wait_for_flag(flag_); }

  __device__ __forceinline__ void publish(const float (&sums)[FINISHED_ROWS<Shape>][Shape::TN]) const {
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
#pragma unroll
      for (int j = 0; j < TN; j += 4) {
        __stcg(sums_ + (i * TN + j) / 4 * WARP, float4{sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]});
      }
    }
    __syncwarp();
    if (threadIdx.x % WARP == 0) {
      raise_flag(flag_);
    }
  }

  /// Once the flag has been seen.
  __device__ __forceinline__ void add_to(float (&sums)[FINISHED_ROWS<Shape>][Shape::TN]) const {
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
#pragma unroll
      for (int j = 0; j < TN; j += 4) {
        const float4 other = __ldcg(sums_ + (i * TN + j) / 4 * WARP);
        sums[i][j] += other.x;
        sums[i][j + 1] += other.y;
        sums[i][j + 2] += other.z;
        sums[i][j + 3] += other.w;
      }
    }
  }

 private:
  static constexpr int ROWS = FINISHED_ROWS<Shape>;
  static constexpr int TN = Shape::TN;

  __device__ static std::int64_t warp(int share) {
    return static_cast<std::int64_t>(share) * Shape::MATH_WARPS + threadIdx.x / WARP;
  }

  float4* sums_;
  unsigned* flag_;
};

/// What becomes of a segment's sums: of a tile's beginning, C, together with what other blocks have of the tile; of
/// another part, sums for the block that has the beginning.
template <class Shape, bool VECTOR>
__device__ __forceinline__ void finish(const Problem& p, const Schedule& schedule, const Segment& segment,
                                       float (&sums)[FINISHED_ROWS<Shape>][Shape::TN]) {
  if (segment.first > 0) {
    PartialSums<Shape>(schedule, Work::share()).publish(sums);
    return;
  }
  if (segment.count < schedule.stages) {
    const int first_share = Work::share() + 1;
    const int end_of_tile = (segment.tile - schedule.whole + 1) * schedule.stages;
    // All at the same time, a lane each: a flag takes a trip to the L2.
    for (int share = first_share + static_cast<int>(threadIdx.x) % WARP; schedule.begin_of_share(share) < end_of_tile;
         share += WARP) {
      PartialSums<Shape>(schedule, share).wait();
    }
    __syncwarp();
#pragma unroll 1
    for (int share = first_share; schedule.begin_of_share(share) < end_of_tile; ++share) {
      PartialSums<Shape>(schedule, share).add_to(sums);
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
__global__ void __launch_bounds__(Shape::THREADS, 1) streamed_kernel(Problem p, Schedule schedule) {
  const unsigned ring = shared_address(dynamic_smem());
  init_ring<Shape>(ring);
  __syncthreads();

  Work work(schedule);
  if (threadIdx.x >= Shape::MATH_THREADS) {
    lower_register_limit<Shape::COPY_REGISTERS>();
    Copier<Shape, VECTOR> copier(ring);
    while (!work.done(schedule)) {
      const Segment segment = work.next(schedule);
      copier.copy(p, tile_at<Shape>(p, segment.tile), segment.first, segment.count);
    }
    return;
  }
  raise_register_limit<Shape::MATH_REGISTERS>();
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
    cp_async_or_zero<WIDTH * FLOAT_BYTES>(destination + r * STRIDE * FLOAT_BYTES, source,
                                          row + r < rows_left && col < cols_left);
    source += ROWS_AT_ONCE * leading_dimension;
  }
}

/// VECTOR_A, VECTOR: rows of A, and of B and C, split into aligned groups of four.
template <class Shape, bool VECTOR_A, bool VECTOR>
__global__ void __launch_bounds__(Shape::THREADS, Shape::BLOCKS_PER_SM) sliced_kernel(Problem p) {
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
    cp_async_commit();
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
    cp_async_wait<Shape::STAGES - 2>();
    __syncthreads();
    copy_stage();
#pragma unroll
    for (int k = 0; k < Shape::SLICE_K; k += 4) {
      float a[TM][4];
#pragma unroll
      for (int i = 0; i < TM; ++i) {
        const float4 value = load_shared_float4(a_first + read + (i * LANES_M * Shape::A_STRIDE + k) * FLOAT_BYTES);
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
          const float4 value = load_shared_float4(b_first + read + ((k + kk) * Shape::BN + j * LANES_N) * FLOAT_BYTES);
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

  cp_async_wait<0>();
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

/// Multiprocessors of the current device; of an H200 on the executor.
int multiprocessors() {
  if constexpr (TARGET == Target::for_gpu) {
    int device = 0;
    int count = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
    return count;
  }
  return 132;
}

std::string name_of(int rows, int cols) { return std::to_string(rows) + "x" + std::to_string(cols); }

/// A configuration whose blocks are warp-specialized: `streamed`, or else with one block per tile.
template <class Shape>
Configuration streamed_configuration(bool streamed) {
  const int blocks = multiprocessors();
  // Flags lie in front, where they are whatever the schedule.
  const std::size_t flag_bytes =
      ceil_div<std::size_t>(static_cast<std::size_t>(blocks) * Shape::MATH_WARPS * sizeof(unsigned), 256) * 256;
  const std::size_t sum_bytes = static_cast<std::size_t>(blocks) * Shape::BM * Shape::BN * sizeof(float);
  return {name_of(Shape::BM, Shape::BN) + (streamed ? " stream-k" : ""), streamed ? flag_bytes + sum_bytes : 0,
          [=](const Problem& p, void* workspace, cudaStream_t stream) {
            const bool vector_access =
                rows_split_into_float4(p.b, p.n, p.ldb) && rows_split_into_float4(p.c, p.n, p.ldc);
            const int tiles = static_cast<int>(tiles_of<Shape::BM, Shape::BN>(p));
            Schedule schedule{};
            schedule.stages = stages_of<Shape>(p);
            schedule.streamed = !streamed || tiles % blocks == 0 ? 0 : tiles < blocks ? tiles : tiles % blocks + blocks;
            schedule.whole = tiles - schedule.streamed;
            const int total = schedule.streamed * schedule.stages;  // far below 2^31: the operands would need terabytes
            const int grid = !streamed ? tiles : schedule.whole > 0 ? blocks : std::min(blocks, total);
            schedule.share = total / grid;
            schedule.longer_shares = total % grid;
            schedule.flags = static_cast<unsigned*>(workspace);
            schedule.sums = reinterpret_cast<float4*>(static_cast<char*>(workspace) + (streamed ? flag_bytes : 0));
            launch(vector_access ? streamed_kernel<Shape, true> : streamed_kernel<Shape, false>, grid,
                   dim3(Shape::THREADS), Shape::SMEM_BYTES, stream, p, schedule);
          }};
}

template <class Shape>
Configuration sliced_configuration() {
  return {name_of(Shape::BM, Shape::BN) + " sliced", 0, [](const Problem& p, void*, cudaStream_t stream) {
            const bool a = rows_split_into_float4(p.a, p.k, p.lda);
            const bool bc = rows_split_into_float4(p.b, p.n, p.ldb) && rows_split_into_float4(p.c, p.n, p.ldc);
            launch(a    ? bc ? sliced_kernel<Shape, true, true> : sliced_kernel<Shape, true, false>
                      : bc ? sliced_kernel<Shape, false, true>
                        : sliced_kernel<Shape, false, false>,
                   tiles_of<Shape::BM, Shape::BN>(p), dim3(Shape::THREADS), Shape::SMEM_BYTES, stream, p);
          }};
}

using Tile128x256 = TileShape<2, 4, 8, 4, 8, 72>;
using Tile256x128 = TileShape<4, 2, 8, 4, 8, 72>;
using Tile128x128 = TileShape<2, 2, 8, 4, 8, 72, 2>;
using Tile128x64 = TileShape<2, 1, 8, 6, 8, 72, 4, 32>;
using Tile64x128 = TileShape<1, 2, 8, 3, 8, 72, 4, 64>;
using Tile64x64 = TileShape<1, 1, 8, 4, 8, 72, 8, 64>;
using Sliced32x32 = SlicedShape<1, 1, 8, 8, 4, 64, 4, 2>;
using Sliced64x32 = SlicedShape<2, 1, 4, 8, 4, 32, 4, 3>;
using Sliced64x64 = SlicedShape<2, 1, 4, 8, 8, 32, 3, 2>;
using Sliced128x128 = SlicedShape<4, 2, 1, 8, 8, 32, 3, 2>;

std::vector<Configuration> configurations(const Problem& p) {
  std::vector<Configuration> all;
  for (const bool streamed : {true, false}) {
    all.push_back(streamed_configuration<Tile128x256>(streamed));
    all.push_back(streamed_configuration<Tile256x128>(streamed));
    all.push_back(streamed_configuration<Tile128x128>(streamed));
    all.push_back(streamed_configuration<Tile128x64>(streamed));
    all.push_back(streamed_configuration<Tile64x128>(streamed));
    all.push_back(streamed_configuration<Tile64x64>(streamed));
  }
  all.push_back(sliced_configuration<Sliced32x32>());
  all.push_back(sliced_configuration<Sliced64x32>());
  all.push_back(sliced_configuration<Sliced64x64>());
  all.push_back(sliced_configuration<Sliced128x128>());
  return all;
}

const Registration registered = Chapter(9, "every_shape")
                                    .summary("tile, split of k and kind of block chosen for each shape")
                                    .source("Osama et al. 2023, Stream-K")
                                    .min_compute_capability(80)
                                    .configurations(configurations)
                                    .blocks_per_sm(1)
                                    .registration();

}  // namespace
}  // namespace sgemm
