// Chapter 10: each FP32 product becomes three TF32 products on tensor cores
//
// Against 07: the products move from the FP32 units to the tensor cores, by mma.sync. Tensor cores take operands in
// TF32, which has 10 mantissa bits of a float's 23. So each operand is split into two terms, as in the paper of Ootomo
// and Yokota and in CUTLASS's 3xTF32:
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
//   order      k may have any order as long as A and B agree, and columns as long as C agrees. Positions q and q + 4 of
//              a tile are elements 2q and 2q + 1 along k: neighbours in a row of A, one LDS.64. Column r of four
//              neighbouring tiles are columns 4r to 4r + 3 of 32: one LDS.128 of B, and one 128-bit store of C.
//   promotion  tensor cores cut off the last bits of a sum, and FP32 units round them. So a long sum in tensor cores
//              drifts towards 0. Here a sum over two k-blocks of 8 starts at 0 and gets its three products twice. FADDs
//              then add it to the accumulators over all k.
//   Inf, NaN   no terms add up to an operand that is Inf or rounds to Inf, and sums with such an operand become NaN.
//              Elements that end as Inf or NaN are computed again without tensor cores.
//   ring       three stages, each for a k-tile of 32. A and B are copied 128 bits at a time, because neither has to be
//              transposed. While one block of an SM waits at its barrier, the other multiplies.
//
// Traffic per element of C: k / 128 loads of A and as many of B from global memory; k / 64 of each from shared memory.
// Limit: loads, splits and FADDs, which two warps on a scheduler do not hide behind the mma; then the tensor cores,
// which make three products for each one in FP32.
//
// Variants: `single_sum` keeps its accumulators in the tensor cores.
// If rows of A, B or C do not split into aligned groups of four, all matrices are copied and stored float by float.

#include "common/ceil_div.hpp"
#include "common/epilogue.cuh"
#include "common/hilbert.hpp"
#include "common/keep_in_register.cuh"
#include "common/problem.hpp"
#include "common/tiling.cuh"
#include "common/vector_access.cuh"
#include "host/launch.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/cvt.cuh"
#include "ptx/mma.cuh"
#include "ptx/shared_memory.cuh"

#include <cmath>

namespace sgemm {
namespace {

constexpr int WARP = 32;
constexpr int FLOAT_BYTES = sizeof(float);
// The product that one instruction makes.
constexpr int MMA_M = 16;
constexpr int MMA_N = 8;
constexpr int MMA_K = 8;
// Tiles of columns that share a load of B and a store of C.
constexpr int GROUP = 4;
constexpr int GROUP_N = GROUP * MMA_N;

constexpr int BM = 128;  // block tile
constexpr int BN = 128;
constexpr int BK = 32;
constexpr int STAGES = 3;
constexpr int WM = 64;  // warp tile
constexpr int WN = 64;
constexpr int BLOCKS_PER_SM = 2;
constexpr int WARPS_N = BN / WN;
constexpr int THREADS = BM / WM * WARPS_N * WARP;
constexpr int TILES_M = WM / MMA_M;
constexpr int TILES_N = WN / MMA_N;

/// Writes `x` as the sum of two terms for tensor cores. `big` is in TF32; `small`, at most 2^-11 of it, has up to 12
/// significant bits, and tensor cores take 11 of them. The terms are not finite if x is Inf or NaN or rounds to Inf.
__device__ __forceinline__ void split_for_tf32(float x, float& big, float& small) {
  big = cvt_rn_tf32_f32(x);
  small = x - big;
}

// One stage in shared memory, in floats: A's tile, BM rows of BK, then B's, BK rows of BN. Groups of 8 floats change
// places within 128 bytes. So a warp's fragments, which come from several rows, lie in distinct banks, and neighbours
// in global memory can still be copied together.
constexpr int K_BLOCKS = BK / MMA_K;
constexpr int B_OFFSET = BM * BK;
constexpr int STAGE = B_OFFSET + BK * BN;
constexpr int SMEM_BYTES = STAGES * STAGE * FLOAT_BYTES;
__device__ __forceinline__ unsigned a_index(unsigned row, unsigned k) {
  return row * BK + (k ^ (row % K_BLOCKS * MMA_K));
}
__device__ __forceinline__ unsigned b_index(unsigned k, unsigned col) {
  return k * BN + (col ^ (k / 2 % K_BLOCKS * MMA_K));
}

/// The place where sums over k grow: FP32 registers, or the tensor cores alone.
enum class Sums { promoted, in_tensor_cores };

/// The number of k-blocks that are multiplied at a time. With promotion, their products share a sum.
template <Sums SUMS>
constexpr int CHAIN = SUMS == Sums::promoted ? 2 : 1;

/// The place in the block tile at which a thread's warp tile begins.
__device__ __forceinline__ int warp_row(unsigned thread) { return thread / WARP / WARPS_N * WM; }
__device__ __forceinline__ int warp_column(unsigned thread) { return thread / WARP % WARPS_N * WN; }

/// accumulators += A * B for a warp and CHAIN k-blocks of a k-tile, the first of them at `k`.
/// `a_first`, `b_first`: where this lane's first elements of a stage are.
template <Sums SUMS>
__device__ __forceinline__ void multiply(const float* stage, unsigned a_first, unsigned b_first, unsigned k,
                                         float (&accumulators)[TILES_M][TILES_N][4]) {
  float a_big[CHAIN<SUMS>][TILES_M][4];
  float a_small[CHAIN<SUMS>][TILES_M][4];
#pragma unroll
  for (int k_block = 0; k_block < CHAIN<SUMS>; ++k_block) {
    const float* const a = stage + (a_first ^ (k + k_block * MMA_K));
#pragma unroll
    for (int i = 0; i < TILES_M; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float2 pair = *reinterpret_cast<const float2*>(a + (i * MMA_M + half * MMA_M / 2) * BK);
        split_for_tf32(pair.x, a_big[k_block][i][half], a_small[k_block][i][half]);
        split_for_tf32(pair.y, a_big[k_block][i][2 + half], a_small[k_block][i][2 + half]);
      }
    }
  }
#pragma unroll
  for (int group = 0; group < TILES_N; group += GROUP) {
    float b_even[CHAIN<SUMS>][GROUP];
    float b_odd[CHAIN<SUMS>][GROUP];
#pragma unroll
    for (int k_block = 0; k_block < CHAIN<SUMS>; ++k_block) {
      const float* const b = stage + b_first + (k + k_block * MMA_K) * BN + group * MMA_N;
      load_groups_of_4<GROUP, GROUP>(b_even[k_block], b);
      load_groups_of_4<GROUP, GROUP>(b_odd[k_block], b + BN);
    }
#pragma unroll
    for (int j = 0; j < GROUP; ++j) {
      float products[TILES_M][4] = {};
#pragma unroll
      for (int k_block = 0; k_block < CHAIN<SUMS>; ++k_block) {
        float b_big[2];
        float b_small[2];
        split_for_tf32(b_even[k_block][j], b_big[0], b_small[0]);
        split_for_tf32(b_odd[k_block][j], b_big[1], b_small[1]);
#pragma unroll
        for (int i = 0; i < TILES_M; ++i) {
          mma_m16n8k8_tf32(products[i], a_big[k_block][i], b_small,
                           SUMS == Sums::promoted ? products[i] : accumulators[i][group + j]);
        }
#pragma unroll
        for (int i = 0; i < TILES_M; ++i) {
          mma_m16n8k8_tf32(products[i], a_small[k_block][i], b_big, products[i]);
        }
#pragma unroll
        for (int i = 0; i < TILES_M; ++i) {
          mma_m16n8k8_tf32(products[i], a_big[k_block][i], b_big, products[i]);
        }
      }
#pragma unroll
      for (int i = 0; i < TILES_M; ++i) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          float& sum = accumulators[i][group + j][e];
          sum = SUMS == Sums::promoted ? sum + products[i][e] : products[i][e];
        }
      }
    }
  }
}

/// The place at which quad number `quad` begins, counted from the first quad. A thread's elements of C come in quads of
/// neighbours.
__device__ __forceinline__ int row_of_quad(int quad) { return quad / (TILES_N / 2) * (MMA_M / 2); }
__device__ __forceinline__ int column_of_quad(int quad) {
  return quad / 2 % (TILES_N / GROUP) * GROUP_N + quad % 2 * 4;
}

/// Element (row, col) of A * B, by one thread, for the few elements that a kernel can not compute in its own way.
__device__ __forceinline__ float dot_product(const Problem& p, std::int64_t row, std::int64_t col) {
  float sum = 0.0F;
  for (std::int64_t k = 0; k < p.k; ++k) {
    sum += p.a[row * p.lda + k] * p.b[k * p.ldb + col];
  }
  return sum;
}

/// C = alpha * accumulators + beta * C for a thread's elements. The first one is at `first_row` and `first_col`.
template <Access ACCESS>
__device__ __forceinline__ void store(const Problem& p, std::int64_t first_row, std::int64_t first_col,
                                      const float (&accumulators)[TILES_M][TILES_N][4]) {
  constexpr int QUADS = TILES_M * TILES_N;
  static_assert(QUADS <= 32);
  unsigned not_finite = 0;  // a bit for each quad
#pragma unroll
  for (int quad = 0; quad < QUADS; ++quad) {
    const int row_in_tile = row_of_quad(quad);
    const int col_in_tile = column_of_quad(quad);
    float values[4];
    bool finite = true;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      values[j] = accumulators[row_in_tile / MMA_M][col_in_tile / GROUP_N * GROUP + j]
                              [row_in_tile % MMA_M / (MMA_M / 2) * 2 + quad % 2];
      finite = finite && std::isfinite(values[j]);
    }
    if (!finite) {
      not_finite |= 1U << static_cast<unsigned>(quad);
      continue;
    }
    const std::int64_t row = first_row + row_in_tile;
    const std::int64_t col = first_col + col_in_tile;
    float* const c = p.c + row * p.ldc + col;
    if (ACCESS == Access::float4 && row < p.m && col < p.n) {
      update4(c, values, p.alpha, p.beta);
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (ACCESS == Access::float1 && row < p.m && col + j < p.n) {
        update(c[j], values[j], p.alpha, p.beta);
      }
    }
  }
#pragma unroll 1
  for (int quad = 0; not_finite != 0; ++quad, not_finite >>= 1U) {
    const std::int64_t row = first_row + row_of_quad(quad);
    const std::int64_t col = first_col + column_of_quad(quad);
#pragma unroll 1
    for (int j = 0; j < 4; ++j) {
      if (not_finite % 2 == 1 && row < p.m && col + j < p.n) {
        update(p.c[row * p.ldc + col + j], dot_product(p, row, col + j), p.alpha, p.beta);
      }
    }
  }
}

/// ACCESS: how A and B are copied and C stored.
template <Access ACCESS, Sums SUMS>
__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM) tf32x3_kernel(Problem p) {
  constexpr int WIDTH = static_cast<int>(ACCESS);  // floats per copy
  constexpr int A_THREADS_PER_ROW = BK / WIDTH;
  constexpr int A_ROWS_PER_COPY = THREADS / A_THREADS_PER_ROW;
  constexpr int B_THREADS_PER_ROW = BN / WIDTH;
  constexpr int B_ROWS_PER_COPY = THREADS / B_THREADS_PER_ROW;
  static_assert(A_ROWS_PER_COPY % K_BLOCKS == 0);

  float* const smem = dynamic_smem();
  const TileOrigin tile = tile_on_curve<BM, BN>(p, static_cast<int>(blockIdx.x));

  // This thread's copies. Elements outside the matrices become zeros.
  const int a_k = threadIdx.x % A_THREADS_PER_ROW * WIDTH;
  const int a_row = threadIdx.x / A_THREADS_PER_ROW;
  const int b_k = threadIdx.x / B_THREADS_PER_ROW;
  const int b_col = threadIdx.x % B_THREADS_PER_ROW * WIDTH;
  const float* a_source = p.a + (tile.row + a_row) * p.lda + a_k;
  const float* b_source = p.b + b_k * p.ldb + tile.col + b_col;
  const std::int64_t a_rows_left = p.m - tile.row - a_row;
  const bool b_inside = tile.col + b_col < p.n;
  const unsigned ring = shared_address(smem);
  const unsigned a_to = ring + FLOAT_BYTES * a_index(a_row, a_k);
  // k-tiles are counted down to 0, so that a k-tile's number tells its stage and how many are left.
  const auto copy_k_tile = [&](unsigned k_tile, int depth) {
    const unsigned stage = FLOAT_BYTES * (k_tile % STAGES * STAGE);
#pragma unroll
    for (int i = 0; i < BM; i += A_ROWS_PER_COPY) {
      cp_async_zfill<FLOAT_BYTES * WIDTH>(a_to + stage + FLOAT_BYTES * i * BK, a_source + i * p.lda,
                                          i < a_rows_left && a_k < depth);
    }
#pragma unroll
    for (int i = 0; i < BK; i += B_ROWS_PER_COPY) {
      const unsigned b_to = ring + FLOAT_BYTES * (B_OFFSET + b_index(b_k + i, b_col));
      cp_async_zfill<FLOAT_BYTES * WIDTH>(b_to + stage, b_source + i * p.ldb, b_inside && b_k + i < depth);
    }
    a_source += depth;
    b_source += depth * p.ldb;
  };

  // All stages but one are filled. If K is no multiple of BK, the first k-tile is the short one.
  const int k_tiles = static_cast<int>(ceil_div<std::int64_t>(p.k, BK));
  const int first_k = static_cast<int>(p.k) - (k_tiles - 1) * BK;
#pragma unroll
  for (int stage = 1; stage < STAGES; ++stage) {
    if (stage <= k_tiles) {
      copy_k_tile(k_tiles - stage, stage == 1 ? first_k : BK);
    }
    cp_async_commit_group();
  }

  // This lane's first elements: element 2q along k in row r of A; columns 4r to 4r + 3 of rows 2q and 2q + 1 of B.
  const int r = threadIdx.x % WARP / 4;
  const int q = threadIdx.x % 4;
  const int a_first = a_index(warp_row(threadIdx.x) + r, 2 * q);
  const int b_first = B_OFFSET + b_index(2 * q, warp_column(threadIdx.x) + 4 * r);
  float accumulators[TILES_M][TILES_N][4] = {};
#pragma unroll 1
  for (int left = k_tiles * K_BLOCKS; left > 0; left -= CHAIN<SUMS>) {
    const unsigned k_block = left - CHAIN<SUMS>;
    const unsigned k_tile = k_block / K_BLOCKS;
    const unsigned k = k_block % K_BLOCKS * MMA_K;
    if (k == BK - CHAIN<SUMS> * MMA_K) {
      cp_async_wait_group<STAGES - 2>();
      __syncthreads();
      if (k_tile >= STAGES - 1) {  // into the stage that all warps have read
        copy_k_tile(k_tile - (STAGES - 1), BK);
      }
      cp_async_commit_group();  // empty groups at the end keep the count that the wait relies on
    }
    const float* const stage = smem + k_tile % STAGES * STAGE;
    multiply<SUMS>(stage, a_first, b_first, k, accumulators);
  }

  // Computed again rather than kept in registers through the loop.
  const unsigned thread = keep_in_register(threadIdx.x);
  const TileOrigin origin = tile_on_curve<BM, BN>(p, static_cast<int>(blockIdx.x));
  store<ACCESS>(p, origin.row + warp_row(thread) + thread % WARP / 4,
                origin.col + warp_column(thread) + 8 * (thread % 4), accumulators);
}

template <Sums SUMS>
void launch_tiles(const Problem& p, cudaStream_t stream) {
  const bool vector_access = rows_split_into_float4(p.a, p.k, p.lda) && rows_split_into_float4(p.b, p.n, p.ldb) &&
                             rows_split_into_float4(p.c, p.n, p.ldc);
  launch(vector_access ? tf32x3_kernel<Access::float4, SUMS> : tf32x3_kernel<Access::float1, SUMS>, tiles_of<BM, BN>(p),
         dim3(THREADS), SMEM_BYTES, stream, p);
}

template <Sums SUMS>
Chapter tf32x3() {
  return Chapter(10, "tf32x3", "Ootomo and Yokota; CUTLASS, 3xTF32")
      .min_capability(80)
      .block(tf32x3_kernel<Access::float4, SUMS>, THREADS, SMEM_BYTES, BLOCKS_PER_SM)
      .launcher(launch_tiles<SUMS>);
}

const Registration promoted = tf32x3<Sums::promoted>()
                                  .summary("three TF32 products for each FP32 product, partial sums added in FP32")
                                  .accuracy(AccuracyClass::fp32_split);
const Registration single_sum = tf32x3<Sums::in_tensor_cores>()
                                    .variant("single_sum")
                                    .summary("sums stay in the tensor cores, which cut off their last bits")
                                    .accuracy(AccuracyClass::tf32);

}  // namespace
}  // namespace sgemm
