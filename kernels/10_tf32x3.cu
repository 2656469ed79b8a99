// Chapter 10: FP32 products on tensor cores, three in TF32 for each
//
// Against 07: the products move from the FP32 units to the tensor cores, by mma.sync. Those take operands in TF32, with
// 10 mantissa bits of a float's 23. So each operand is split in two, as by Ootomo and Yokota and in CUTLASS's 3xTF32:
//
//   x     |s| exponent |           23 mantissa bits            |
//   big   |s| exponent | 10, rounded     |                           a * b = big_a * big_b + big_a * small_b
//   small                          |s| exponent | 10 (11)  |               + small_a * big_b + (2^-22 of it, left out)
//
//   block 128 x 256        warp 32 x 64: 2 x 8 mma tiles           mma 16 x 8 x 8, lane = 4 r + q
//   +----+----+----+----+   +--+--+--+--+--+--+--+--+   16 rows     A  rows r, r + 8    B  columns r
//   | w0 | w1 | w2 | w3 |   |  |  |  |  |  |  |  |  |                  k q, q + 4          k q, q + 4
//   | w4 | w5 | w6 | w7 |   +--+--+--+--+--+--+--+--+
//   | w8 | w9 | wa | wb |   |  |  |  |  |  |  |  |  |   16 rows     D  rows r, r + 8
//   | wc | wd | we | wf |   +--+--+--+--+--+--+--+--+                  columns 2q, 2q + 1
//   +----+----+----+----+    8 columns each
//
//   order      that of k is free as long as A and B agree, that of the columns as long as C agrees. Positions q and
//              q + 4 of a tile are k 2q and 2q + 1: neighbours in a row of A, one LDS.64. Column r of four neighbouring
//              tiles is column 4r to 4r + 3 of 32: one LDS.128 of B, and one 128-bit store of C.
//   promotion  tensor cores cut off the last bits of a sum where an FP32 unit rounds, and a long sum drifts towards 0.
//              Each sum of 8 k and three products starts at 0 and is then added to the sum of all k by an ordinary
//              FADD.
//   Inf, NaN   Inf - Inf is NaN: a split operand that is not finite spoils what SGEMM would make of it. Elements that
//              end as Inf or NaN are computed again, one by one, without tensor cores.
//
// Traffic per element of C: k / 256 loads of A and k / 128 of B from global memory, as in 07; k / 64 of A and k / 32 of
// B from shared memory.
// Limit: the tensor cores, which have three products to make for each one that counts.
//
// Variants: `single_sum` leaves the sums in the tensor cores.
// Where rows of A, B or C do not split into aligned groups of four, all is copied and stored float by float.

#include "async_copy.cuh"
#include "ceil_div.hpp"
#include "chapter.cuh"
#include "dynamic_smem.cuh"
#include "epilogue.cuh"
#include "hilbert.hpp"
#include "problem.hpp"
#include "registers.cuh"
#include "tensor_core.cuh"
#include "tiling.cuh"
#include "vector_access.cuh"

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
template <int BM_, int BN_, int BK_, int STAGES_, int WM_, int WN_, int BLOCKS_PER_SM_>
struct TileShape {
  static constexpr int BM = BM_;
  static constexpr int BN = BN_;
  static constexpr int BK = BK_;
  static constexpr int STAGES = STAGES_;
  static constexpr int WM = WM_;
  static constexpr int WN = WN_;
  static constexpr int BLOCKS_PER_SM = BLOCKS_PER_SM_;
  static constexpr int WARPS_N = BN / WN;
  static constexpr int THREADS = BM / WM * WARPS_N * WARP;
  static constexpr int TILES_M = WM / MMA_M;
  static constexpr int TILES_N = WN / MMA_N;
  // Shared memory is a ring of slices of 8 k, in floats: A's part, four rows of which fill the banks, then B's, every
  // second row of which begins 8 banks further on. The padding of A keeps slices that are copied together apart.
  static constexpr int B_OFFSET = BM * MMA_K + 16;
  static constexpr int B_LD = BN + 4;
  static constexpr int SLICE = B_OFFSET + MMA_K * B_LD;
  static constexpr int SLICES = BK / MMA_K;  // in a stage
  static constexpr int RING = STAGES * SLICES;
  static constexpr int SLICE_BYTES = SLICE * FLOAT_BYTES;
  static constexpr int SMEM_BYTES = RING * SLICE_BYTES;
};

/// Where the sums over k grow: in FP32 registers, or in the tensor cores' own accumulators.
enum class Sums { promoted, in_tensor_cores };

template <class Shape>
__device__ __forceinline__ TileOrigin tile_of_block(const Problem& p) {
  const TileIndex index =
      hilbert_tile(static_cast<int>(blockIdx.x), static_cast<int>(ceil_div<std::int64_t>(p.m, Shape::BM)),
                   static_cast<int>(ceil_div<std::int64_t>(p.n, Shape::BN)));
  return {static_cast<std::int64_t>(index.row) * Shape::BM, static_cast<std::int64_t>(index.col) * Shape::BN};
}

/// Where in the block tile a thread's warp tile begins.
template <class Shape>
__device__ __forceinline__ int warp_row(int thread) {
  return thread / WARP / Shape::WARPS_N * Shape::WM;
}
template <class Shape>
__device__ __forceinline__ int warp_column(int thread) {
  return thread / WARP % Shape::WARPS_N * Shape::WN;
}

/// sums += A * B for a warp and 8 k. `a` and `b` point to the first of this lane's elements.
template <class Shape, Sums SUMS>
__device__ __forceinline__ void multiply(const float* a, const float* b,
                                         float (&sums)[Shape::TILES_M][Shape::TILES_N][4]) {
  constexpr int TILES_M = Shape::TILES_M;
  float a_big[TILES_M][4];
  float a_small[TILES_M][4];
#pragma unroll
  for (int i = 0; i < TILES_M; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float2 pair = load_float2(a + (i * MMA_M + half * MMA_M / 2) * MMA_K);
      split_for_tf32(pair.x, a_big[i][half], a_small[i][half]);
      split_for_tf32(pair.y, a_big[i][2 + half], a_small[i][2 + half]);
    }
  }
#pragma unroll
  for (int group = 0; group < Shape::TILES_N; group += GROUP) {
    if (group > 0) {
      __syncwarp();  // keeps the compiler from loading this earlier, into registers that it does not have
    }
    float b_even[GROUP];
    float b_odd[GROUP];
    load_groups_of_4<GROUP, GROUP>(b_even, b + group * MMA_N);
    load_groups_of_4<GROUP, GROUP>(b_odd, b + group * MMA_N + Shape::B_LD);
#pragma unroll
    for (int j = 0; j < GROUP; ++j) {
      float b_big[2];
      float b_small[2];
      split_for_tf32(b_even[j], b_big[0], b_small[0]);
      split_for_tf32(b_odd[j], b_big[1], b_small[1]);
      float products[TILES_M][4] = {};
#pragma unroll
      for (int i = 0; i < TILES_M; ++i) {
        mma_16x8x8(products[i], a_big[i], b_small, SUMS == Sums::promoted ? products[i] : sums[i][group + j]);
      }
#pragma unroll
      for (int i = 0; i < TILES_M; ++i) {
        mma_16x8x8(products[i], a_small[i], b_big, products[i]);
      }
#pragma unroll
      for (int i = 0; i < TILES_M; ++i) {
        mma_16x8x8(products[i], a_big[i], b_big, products[i]);
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

/// Element (row, col) of A * B by ordinary instructions.
__device__ __forceinline__ float dot_product(const Problem& p, std::int64_t row, std::int64_t col) {
  float sum = 0.0F;
  for (std::int64_t k = 0; k < p.k; ++k) {
    sum += p.a[row * p.lda + k] * p.b[k * p.ldb + col];
  }
  return sum;
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

/// Starts this thread's copies for one step, BK k of A and B, into the ring at the shared address `ring`. Steps are
/// counted down to 0, so that a step's number tells its place in the ring and how many are left. What lies outside the
/// matrices is filled with zeros; a k that is no multiple of BK makes the first step begin before k = 0.
template <class Shape, bool VECTOR>
__device__ __forceinline__ void copy_step(const Problem& p, TileOrigin tile, unsigned ring, int step) {
  constexpr int WIDTH = VECTOR ? 4 : 1;  // floats per copy
  constexpr int A_THREADS_PER_ROW = Shape::BK / WIDTH;
  constexpr int A_ROWS_PER_COPY = Shape::THREADS / A_THREADS_PER_ROW;
  constexpr int B_THREADS_PER_ROW = Shape::BN / WIDTH;
  constexpr int B_ROWS_PER_COPY = Shape::THREADS / B_THREADS_PER_ROW;
  static_assert(MMA_K % B_ROWS_PER_COPY == 0);
  const int thread = static_cast<int>(keep_in_register(threadIdx.x));  // nothing of this is worth a register all along
  const int stage = step % Shape::STAGES * (Shape::SLICES * Shape::SLICE);
  const int first_k = static_cast<int>(p.k) - (step + 1) * Shape::BK;

  const int a_k = thread % A_THREADS_PER_ROW * WIDTH;
  const int a_row = thread / A_THREADS_PER_ROW;
  const unsigned a_to = ring + FLOAT_BYTES * (stage + a_k / MMA_K * Shape::SLICE + a_row * MMA_K + a_k % MMA_K);
#pragma unroll
  for (int i = 0; i < Shape::BM; i += A_ROWS_PER_COPY) {
    const std::int64_t row = tile.row + a_row + i;
    cp_async_or_zero<FLOAT_BYTES * WIDTH>(a_to + FLOAT_BYTES * i * MMA_K, p.a + row * p.lda + first_k + a_k,
                                          row < p.m && first_k + a_k >= 0);
  }
  const int b_k = thread / B_THREADS_PER_ROW;
  const int b_col = thread % B_THREADS_PER_ROW * WIDTH;
  const unsigned b_to = ring + FLOAT_BYTES * (stage + Shape::B_OFFSET + b_k * Shape::B_LD + b_col);
#pragma unroll
  for (int i = 0; i < Shape::BK; i += B_ROWS_PER_COPY) {
    const int k = first_k + b_k + i;
    cp_async_or_zero<FLOAT_BYTES * WIDTH>(b_to + FLOAT_BYTES * (i / MMA_K * Shape::SLICE + i % MMA_K * Shape::B_LD),
                                          p.b + k * p.ldb + tile.col + b_col, tile.col + b_col < p.n && k >= 0);
  }
}

/// VECTOR: rows of A, B and C split into aligned groups of four.
template <class Shape, bool VECTOR, Sums SUMS>
__global__ void __launch_bounds__(Shape::THREADS, Shape::BLOCKS_PER_SM) tf32x3_kernel(Problem p) {
  constexpr int STAGES = Shape::STAGES;
  float* const smem = dynamic_smem();
  const unsigned ring = shared_address(smem);
  const TileOrigin tile = tile_of_block<Shape>(p);
  const int steps = static_cast<int>(ceil_div<std::int64_t>(p.k, Shape::BK));
#pragma unroll 1
  for (int step = steps - 1; step > steps - STAGES; --step) {  // fills all stages but one
    if (step >= 0) {
      copy_step<Shape, VECTOR>(p, tile, ring, step);
    }
    cp_async_commit();
  }

  // Rows r and r + 8 of A's slices, k 2q and 2q + 1; columns 4r to 4r + 3 of B's rows 2q and 2q + 1.
  const int thread = static_cast<int>(threadIdx.x);
  const int r = thread % WARP / 4;
  const int q = thread % 4;
  const float* const a_first = smem + (warp_row<Shape>(thread) + r) * MMA_K + 2 * q;
  const float* const b_first = smem + Shape::B_OFFSET + 2 * q * Shape::B_LD + warp_column<Shape>(thread) + 4 * r;
  float sums[Shape::TILES_M][Shape::TILES_N][4] = {};
#pragma unroll 1
  for (int slice = steps * Shape::SLICES - 1; slice >= 0; --slice) {
    if (slice % Shape::SLICES == Shape::SLICES - 1) {
      cp_async_wait<STAGES - 2>();
      __syncthreads();
      const int next = slice / Shape::SLICES - (STAGES - 1);  // takes the place of the one that all have left
      if (next >= 0) {
        copy_step<Shape, VECTOR>(p, tile, ring, next);
      }
      cp_async_commit();  // empty groups at the end keep the count that the wait relies on
    }
    const unsigned in_ring = static_cast<unsigned>(slice) % Shape::RING * Shape::SLICE;
    multiply<Shape, SUMS>(a_first + in_ring, b_first + in_ring, sums);
  }

  const int again = static_cast<int>(keep_in_register(threadIdx.x));  // computed again rather than kept in the loop
  store<Shape, VECTOR>(p, tile.row + warp_row<Shape>(again) + again % WARP / 4,
                       tile.col + warp_column<Shape>(again) + 8 * (again % 4), sums);
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

using Tile = TileShape<128, 256, 16, 4, 32, 64, 1>;

const Registration promoted = chapter<Tile, Sums::promoted>()
                                  .summary(
                                      "three TF32 products for each in FP32, on tensor cores, 128x256 tiles, "
                                      "32x64 per warp, sums of 8 k added in FP32")
                                  .accuracy(AccuracyClass::fp32_split)
                                  .registration();
const Registration single_sum = chapter<Tile, Sums::in_tensor_cores>()
                                    .variant("single_sum")
                                    .summary("the same with sums that never leave the tensor cores")
                                    .accuracy(AccuracyClass::tf32)
                                    .registration();

}  // namespace
}  // namespace sgemm
