// Chapter 10: FP32 products on tensor cores, three in TF32 for each
//
// Against 07: the products move from the FP32 units to the tensor cores, by mma.sync. Those take operands in TF32, with
// 10 mantissa bits of a float's 23. So each operand is split in two, as by Ootomo and Yokota and in CUTLASS's 3xTF32:
//
//   x      |s|exponent|     23 mantissa bits      |
//   big    |s|exponent|10, rounded|                    a b = big_a big_b + big_a small_b + small_a big_b
//   small              |s|exponent|10 of at most 11|         + small_a small_b, 2^-22 of it, left out
//
//   block 128 x 128   warp 64 x 64: 4 x 8 tiles of 16 x 8       mma 16 x 8 x 8, lane = 4 r + q
//   +-------+-------+   +--+--+--+--+--+--+--+--+               A  rows r, r + 8      k q, q + 4
//   |  w0   |  w1   |   |  |  |  |  |  |  |  |  |               B  columns r          k q, q + 4
//   |       |       |   +--+--+--+--+--+--+--+--+               C  rows r, r + 8      columns 2q, 2q + 1
//   +-------+-------+   |  |  |  |  |  |  |  |  |
//   |  w2   |  w3   |   +--+--+--+--+--+--+--+--+
//   |       |       |   |  |  |  |  |  |  |  |  |
//   +-------+-------+   +--+--+--+--+--+--+--+--+
//   two on an SM        |  |  |  |  |  |  |  |  |
//                       +--+--+--+--+--+--+--+--+
//
//   order      that of k is free as long as A and B agree, that of columns as long as C agrees. Positions q and q + 4
//              of a tile are k 2q and 2q + 1: neighbours in a row of A, one LDS.64. Column r of four neighbouring tiles
//              are columns 4r to 4r + 3 of 32: one LDS.128 of B, and one 128-bit store of C.
//   promotion  tensor cores cut off a sum's last bits where an FP32 unit rounds, so that a long sum drifts towards 0. A
//              sum of 16 k starts at 0, gets its three products twice, and is added to the sum over all k by FADDs.
//   Inf, NaN   an operand that is Inf or rounds to it has no parts that add up to it, and what it enters becomes NaN.
//              Elements that end as Inf or NaN are computed again without tensor cores.
//   pipeline   three stages of 32 k, copied 128 bits at a time, A as well: nothing has to be transposed. While one
//              block of an SM waits at its barrier the other multiplies.
//
// Traffic per element of C: k / 128 loads of A and as many of B from global memory; k / 64 of each from shared memory.
// Limit: loads, splits and FADDs, which two warps on a scheduler do not hide behind the mma; then tensor cores, which
// make three products for one that counts.
//
// Variants: `single_sum` leaves the sums in the tensor cores.
// Where rows of A, B or C do not split into aligned groups of four, all is copied and stored float by float.

#include "common/ceil_div.hpp"
#include "common/epilogue.cuh"
#include "common/hilbert.hpp"
#include "common/keep_in_register.cuh"
#include "common/problem.hpp"
#include "common/tiling.cuh"
#include "common/vector_access.cuh"
#include "engine/dot_product.cuh"
#include "engine/split_tf32.cuh"
#include "host/chapter.cuh"
#include "host/launch.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/mma.cuh"
#include "ptx/shared_memory.cuh"

#include <cmath>

namespace sgemm {
namespace {

constexpr int WARP = 32;
constexpr int FLOAT_BYTES = sizeof(float);
// What one instruction multiplies.
constexpr int MMA_M = 16;
constexpr int MMA_N = 8;
constexpr int MMA_K = 8;
// Tiles of columns that share a load of B and a store of C.
constexpr int GROUP = 4;
constexpr int GROUP_N = GROUP * MMA_N;

/// A block tile of BM x BN, BK k at a time, by warps that compute WM x WN each.
template <int BM_, int BN_, int STAGES_, int WM_, int WN_, int BLOCKS_PER_SM_>
struct TileShape {
  static constexpr int BM = BM_;
  static constexpr int BN = BN_;
  static constexpr int BK = 32;
  static constexpr int STAGES = STAGES_;
  static constexpr int WM = WM_;
  static constexpr int WN = WN_;
  static constexpr int BLOCKS_PER_SM = BLOCKS_PER_SM_;
  static constexpr int WARPS_N = BN / WN;
  static constexpr int THREADS = BM / WM * WARPS_N * WARP;
  static constexpr int TILES_M = WM / MMA_M;
  static constexpr int TILES_N = WN / MMA_N;
  // One stage in shared memory, in floats: A's tile, BM rows of BK, then B's, BK rows of BN. Groups of 8 floats change
  // places within 128 bytes: so a warp's fragments, which come from several rows, fall on distinct banks, and yet what
  // is neighbours in global memory is copied in one go.
  static constexpr int SLICES = BK / MMA_K;
  static constexpr int B_OFFSET = BM * BK;
  static constexpr int STAGE = B_OFFSET + BK * BN;
  static constexpr int SMEM_BYTES = STAGES * STAGE * FLOAT_BYTES;
  __device__ static unsigned a_index(unsigned row, unsigned k) { return row * BK + (k ^ (row % SLICES * MMA_K)); }
  __device__ static unsigned b_index(unsigned k, unsigned col) { return k * BN + (col ^ (k / 2 % SLICES * MMA_K)); }
};

/// Where the sums over k grow: in FP32 registers, or in the tensor cores' own accumulators.
enum class Sums { promoted, in_tensor_cores };

/// Slices of 8 k that are multiplied at a time. Promoted, their products share a sum.
template <Sums SUMS>
constexpr int CHAIN = SUMS == Sums::promoted ? 2 : 1;

template <class Shape>
__device__ __forceinline__ TileOrigin tile_of_block(const Problem& p) {
  const TileIndex index =
      hilbert_tile(static_cast<int>(blockIdx.x), static_cast<int>(ceil_div<std::int64_t>(p.m, Shape::BM)),
                   static_cast<int>(ceil_div<std::int64_t>(p.n, Shape::BN)));
  return {static_cast<std::int64_t>(index.row) * Shape::BM, static_cast<std::int64_t>(index.col) * Shape::BN};
}

/// Where in the block tile a thread's warp tile begins.
template <class Shape>
__device__ __forceinline__ int warp_row(unsigned thread) {
  return thread / WARP / Shape::WARPS_N * Shape::WM;
}
template <class Shape>
__device__ __forceinline__ int warp_column(unsigned thread) {
  return thread / WARP % Shape::WARPS_N * Shape::WN;
}

/// sums += A * B for a warp and CHAIN slices of a stage, the first of them at `k`.
/// `a_first`, `b_first`: where this lane's first elements of a stage are.
template <class Shape, Sums SUMS>
__device__ __forceinline__ void multiply(const float* stage, unsigned a_first, unsigned b_first, unsigned k,
                                         float (&sums)[Shape::TILES_M][Shape::TILES_N][4]) {
  constexpr int TILES_M = Shape::TILES_M;
  constexpr int SLICES = CHAIN<SUMS>;
  float a_big[SLICES][TILES_M][4];
  float a_small[SLICES][TILES_M][4];
#pragma unroll
  for (int slice = 0; slice < SLICES; ++slice) {
    const float* const a = stage + (a_first ^ (k + slice * MMA_K));
#pragma unroll
    for (int i = 0; i < TILES_M; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float2 pair = load_float2(a + (i * MMA_M + half * MMA_M / 2) * Shape::BK);
        split_for_tf32(pair.x, a_big[slice][i][half], a_small[slice][i][half]);
        split_for_tf32(pair.y, a_big[slice][i][2 + half], a_small[slice][i][2 + half]);
      }
    }
  }
#pragma unroll
  for (int group = 0; group < Shape::TILES_N; group += GROUP) {
    float b_even[SLICES][GROUP];
    float b_odd[SLICES][GROUP];
#pragma unroll
    for (int slice = 0; slice < SLICES; ++slice) {
      const float* const b = stage + b_first + (k + slice * MMA_K) * Shape::BN + group * MMA_N;
      load_groups_of_4<GROUP, GROUP>(b_even[slice], b);
      load_groups_of_4<GROUP, GROUP>(b_odd[slice], b + Shape::BN);
    }
#pragma unroll
    for (int j = 0; j < GROUP; ++j) {
      float products[TILES_M][4] = {};
#pragma unroll
      for (int slice = 0; slice < SLICES; ++slice) {
        float b_big[2];
        float b_small[2];
        split_for_tf32(b_even[slice][j], b_big[0], b_small[0]);
        split_for_tf32(b_odd[slice][j], b_big[1], b_small[1]);
#pragma unroll
        for (int i = 0; i < TILES_M; ++i) {
          mma_m16n8k8_tf32(products[i], a_big[slice][i], b_small,
                           SUMS == Sums::promoted ? products[i] : sums[i][group + j]);
        }
#pragma unroll
        for (int i = 0; i < TILES_M; ++i) {
          mma_m16n8k8_tf32(products[i], a_small[slice][i], b_big, products[i]);
        }
#pragma unroll
        for (int i = 0; i < TILES_M; ++i) {
          mma_m16n8k8_tf32(products[i], a_big[slice][i], b_big, products[i]);
        }
      }
#pragma unroll
      for (int i = 0; i < TILES_M; ++i) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          float& sum = sums[i][group + j][e];
          sum = SUMS == Sums::promoted ? sum + products[i][e] : products[i][e];
        }
      }
    }
  }
}

/// A thread's elements of C come in pieces of four neighbours. Where piece number `piece` begins, as seen from the
/// first one.
template <class Shape>
__device__ __forceinline__ int row_of_piece(int piece) {
  return piece / (Shape::TILES_N / 2) * (MMA_M / 2);
}
template <class Shape>
__device__ __forceinline__ int column_of_piece(int piece) {
  return piece / 2 % (Shape::TILES_N / GROUP) * GROUP_N + piece % 2 * 4;
}

/// C = alpha * sums + beta * C, for the elements of a thread, the first of which is at `first_row` and `first_col`.
template <class Shape, bool VECTOR>
__device__ __forceinline__ void store(const Problem& p, std::int64_t first_row, std::int64_t first_col,
                                      const float (&sums)[Shape::TILES_M][Shape::TILES_N][4]) {
  constexpr int PIECES = Shape::TILES_M * Shape::TILES_N;
  static_assert(PIECES <= 32);
  unsigned not_finite = 0;  // a bit for each piece
#pragma unroll
  for (int piece = 0; piece < PIECES; ++piece) {
    const int row_in_tile = row_of_piece<Shape>(piece);
    const int col_in_tile = column_of_piece<Shape>(piece);
    float values[4];
    bool finite = true;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      values[j] = sums[row_in_tile / MMA_M][col_in_tile / GROUP_N * GROUP + j]
                      [row_in_tile % MMA_M / (MMA_M / 2) * 2 + piece % 2];
      finite = finite && std::isfinite(values[j]);
    }
    if (!finite) {
      not_finite |= 1U << static_cast<unsigned>(piece);
      continue;
    }
    const std::int64_t row = first_row + row_in_tile;
    const std::int64_t col = first_col + col_in_tile;
    float* const c = p.c + row * p.ldc + col;
    if (VECTOR && row < p.m && col < p.n) {
      update4(c, values, p.alpha, p.beta);
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (!VECTOR && row < p.m && col + j < p.n) {
        update(c[j], values[j], p.alpha, p.beta);
      }
    }
  }
#pragma unroll 1
  for (int piece = 0; not_finite != 0; ++piece, not_finite >>= 1U) {
    const std::int64_t row = first_row + row_of_piece<Shape>(piece);
    const std::int64_t col = first_col + column_of_piece<Shape>(piece);
#pragma unroll 1
    for (int j = 0; j < 4; ++j) {
      if (not_finite % 2 == 1 && row < p.m && col + j < p.n) {
        update(p.c[row * p.ldc + col + j], dot_product(p, row, col + j), p.alpha, p.beta);
      }
    }
  }
}

/// VECTOR: rows of A, B and C split into aligned groups of four.
template <class Shape, bool VECTOR, Sums SUMS>
__global__ void __launch_bounds__(Shape::THREADS, Shape::BLOCKS_PER_SM) tf32x3_kernel(Problem p) {
  constexpr int BK = Shape::BK;
  constexpr int STAGES = Shape::STAGES;
  constexpr int WIDTH = VECTOR ? 4 : 1;  // floats per copy
  constexpr int A_THREADS_PER_ROW = BK / WIDTH;
  constexpr int A_ROWS_PER_COPY = Shape::THREADS / A_THREADS_PER_ROW;
  constexpr int B_THREADS_PER_ROW = Shape::BN / WIDTH;
  constexpr int B_ROWS_PER_COPY = Shape::THREADS / B_THREADS_PER_ROW;
  static_assert(A_ROWS_PER_COPY % Shape::SLICES == 0);

  float* const smem = dynamic_smem();
  const TileOrigin tile = tile_of_block<Shape>(p);

  // This thread's part of the copies. What lies outside the matrices is filled with zeros.
  const int a_k = threadIdx.x % A_THREADS_PER_ROW * WIDTH;
  const int a_row = threadIdx.x / A_THREADS_PER_ROW;
  const int b_k = threadIdx.x / B_THREADS_PER_ROW;
  const int b_col = threadIdx.x % B_THREADS_PER_ROW * WIDTH;
  const float* a_source = p.a + (tile.row + a_row) * p.lda + a_k;
  const float* b_source = p.b + b_k * p.ldb + tile.col + b_col;
  const std::int64_t a_rows_left = p.m - tile.row - a_row;
  const bool b_inside = tile.col + b_col < p.n;
  const unsigned ring = shared_address(smem);
  const unsigned a_to = ring + FLOAT_BYTES * Shape::a_index(a_row, a_k);
  // Steps are counted down to 0, so that a step's number tells its place in the ring and how many are left.
  const auto copy_step = [&](unsigned step, int depth) {
    const unsigned stage = FLOAT_BYTES * (step % STAGES * Shape::STAGE);
#pragma unroll
    for (int i = 0; i < Shape::BM; i += A_ROWS_PER_COPY) {
      cp_async_zfill<FLOAT_BYTES * WIDTH>(a_to + stage + FLOAT_BYTES * i * BK, a_source + i * p.lda,
                                          i < a_rows_left && a_k < depth);
    }
#pragma unroll
    for (int i = 0; i < BK; i += B_ROWS_PER_COPY) {
      const unsigned b_to = ring + FLOAT_BYTES * (Shape::B_OFFSET + Shape::b_index(b_k + i, b_col));
      cp_async_zfill<FLOAT_BYTES * WIDTH>(b_to + stage, b_source + i * p.ldb, b_inside && b_k + i < depth);
    }
    a_source += depth;
    b_source += depth * p.ldb;
  };

  // All stages are filled but one. A k that is no multiple of BK leaves its short step for the beginning.
  const int steps = static_cast<int>(ceil_div<std::int64_t>(p.k, BK));
  const int first_k = static_cast<int>(p.k) - (steps - 1) * BK;
#pragma unroll
  for (int stage = 1; stage < STAGES; ++stage) {
    if (stage <= steps) {
      copy_step(steps - stage, stage == 1 ? first_k : BK);
    }
    cp_async_commit_group();
  }

  // This lane's first elements: k 2q of row r of A; columns 4r to 4r + 3 of rows 2q and 2q + 1 of B.
  const int r = threadIdx.x % WARP / 4;
  const int q = threadIdx.x % 4;
  const int a_first = Shape::a_index(warp_row<Shape>(threadIdx.x) + r, 2 * q);
  const int b_first = Shape::B_OFFSET + Shape::b_index(2 * q, warp_column<Shape>(threadIdx.x) + 4 * r);
  float sums[Shape::TILES_M][Shape::TILES_N][4] = {};
#pragma unroll 1
  for (int left = steps * Shape::SLICES; left > 0; left -= CHAIN<SUMS>) {
    const unsigned slice = left - CHAIN<SUMS>;
    const unsigned step = slice / Shape::SLICES;
    const unsigned k = slice % Shape::SLICES * MMA_K;
    if (k == BK - CHAIN<SUMS> * MMA_K) {
      cp_async_wait_group<STAGES - 2>();
      __syncthreads();
      if (step >= STAGES - 1) {  // into the stage that all have left
        copy_step(step - (STAGES - 1), BK);
      }
      cp_async_commit_group();  // empty groups at the end keep the count that the wait relies on
    }
    const float* const stage = smem + step % STAGES * Shape::STAGE;
    multiply<Shape, SUMS>(stage, a_first, b_first, k, sums);
  }

  // Computed again rather than kept in registers through the loop.
  const unsigned thread = keep_in_register(threadIdx.x);
  const TileOrigin origin = tile_of_block<Shape>(p);
  store<Shape, VECTOR>(p, origin.row + warp_row<Shape>(thread) + thread % WARP / 4,
                       origin.col + warp_column<Shape>(thread) + 8 * (thread % 4), sums);
}

template <class Shape, Sums SUMS>
Chapter chapter() {
  return Chapter(10, "tf32x3")
      .source("Ootomo and Yokota; CUTLASS, 3xTF32")
      .min_compute_capability(80)
      .launcher([](const Problem& p, cudaStream_t stream) {
        const bool vector_access = rows_split_into_float4(p.a, p.k, p.lda) && rows_split_into_float4(p.b, p.n, p.ldb) &&
                                   rows_split_into_float4(p.c, p.n, p.ldc);
        launch(vector_access ? tf32x3_kernel<Shape, true, SUMS> : tf32x3_kernel<Shape, false, SUMS>,
               tiles_of<Shape::BM, Shape::BN>(p), dim3(Shape::THREADS), Shape::SMEM_BYTES, stream, p);
      })
      .blocks_per_sm(Shape::BLOCKS_PER_SM)
      .resources([] { return resources_of(tf32x3_kernel<Shape, true, SUMS>, Shape::THREADS, Shape::SMEM_BYTES); });
}

using Tile = TileShape<128, 128, 3, 64, 64, 2>;

const Registration promoted = chapter<Tile, Sums::promoted>()
                                  .summary(
                                      "three TF32 products for each in FP32, on tensor cores, 128x128 tiles, "
                                      "64x64 per warp, sums of 16 k added in FP32")
                                  .accuracy(AccuracyClass::fp32_split)
                                  .registration();
const Registration single_sum = chapter<Tile, Sums::in_tensor_cores>()
                                    .variant("single_sum")
                                    .summary("the same with sums that never leave the tensor cores")
                                    .accuracy(AccuracyClass::tf32)
                                    .registration();

}  // namespace
}  // namespace sgemm
