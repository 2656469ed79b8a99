// Chapter 06: two-dimensional thread coarsening
//
// Against 05: a thread computes an 8 x 8 patch of C. Per k it reads 8 elements of A and 8 of B from shared memory into
// registers and makes 64 multiply-adds of them: an outer product.
//
//                     BN = 128                256 threads as 16 x 16, 8 x 8 elements of C each
//               +------------------+
//      BK = 16  |        Bs        |
//               +------|8|---------+          per k:    b[8]
//    BK = 16                                          +--------+
//    +------+   +------------------+             a[8] | 8 x 8  |  += a[i] * b[j]
//    |  As  |-8-|      [8x8]       | BM = 128         +--------+
//    +------+   +------------------+
//
// Traffic per element of C: k / 128 loads of A and of B from global memory, k / 8 of each from shared memory.
// Limit: instructions other than FMAs, copies without overlap, stalls at dispatch. The default copies float by float.
//
// Variant `vectorized`: 128-bit accesses everywhere. A is transposed on its way into shared memory. Rows that do not
// split into aligned groups of four take the default path.

#include "common/epilogue.cuh"
#include "common/problem.hpp"
#include "common/tiling.cuh"
#include "common/vector_access.cuh"
#include "host/launch.cuh"

namespace sgemm {
namespace {

constexpr int BM = 128;
constexpr int BN = 128;
constexpr int BK = 16;
constexpr int TM = 8;  // rows of C per thread
constexpr int TN = 8;  // columns of C per thread
constexpr int THREADS_N = BN / TN;
constexpr int THREADS = BM / TM * THREADS_N;

/// Where column j lies: in runs half a tile apart. With one run of eight, threads meet on half of the banks.
template <int RUN = 4>
__device__ constexpr int column_offset(int j) {
  return j / RUN * (THREADS_N * RUN) + j % RUN;
}

/// sums += a * b, the outer product of one column of A and one row of B.
__device__ __forceinline__ void add_outer_product(float (&sums)[TM][TN], const float (&a)[TM], const float (&b)[TN]) {
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; ++j) {
      sums[i][j] += a[i] * b[j];
    }
  }
}

template <int RUN, int PADDING>
__global__ void __launch_bounds__(THREADS, 2) coarse_2d_kernel(Problem p) {
  // One float of padding has the compiler stagger its reads of A over the steps of k, which halves stalls at dispatch.
  __shared__ float a_tile[BM][BK + PADDING];
  __shared__ float b_tile[BK][BN];

  const TileOrigin tile = tile_of_block<BM, BN>(p);
  const int row = static_cast<int>(threadIdx.x) / THREADS_N * TM;
  const int col = static_cast<int>(threadIdx.x) % THREADS_N * RUN;
  const int a_row = threadIdx.x / BK;
  const int a_col = threadIdx.x % BK;
  const int b_row = threadIdx.x / BN;
  const int b_col = threadIdx.x % BN;
  const std::int64_t a_rows_left = p.m - (tile.row + a_row);
  const bool b_col_inside = tile.col + b_col < p.n;
  const float* a_source = p.a + (tile.row + a_row) * p.lda + a_col;
  const float* b_source = p.b + b_row * p.ldb + tile.col + b_col;
  const unsigned depth = static_cast<unsigned>(p.k);
  const unsigned a_depth = depth_inside(a_rows_left > 0, p.k, a_col);
  const unsigned b_depth = depth_inside(b_col_inside, p.k, b_row);

  float sums[TM][TN] = {};
  for (unsigned k = 0; k < depth; k += BK) {
#pragma unroll
    for (int i = 0; i < BM; i += THREADS / BK) {
      a_tile[a_row + i][a_col] = load_or_zero(a_source + i * p.lda, i < a_rows_left && k < a_depth);
    }
#pragma unroll
    for (int i = 0; i < BK; i += THREADS / BN) {
      b_tile[b_row + i][b_col] = load_or_zero(b_source + i * p.ldb, k + i < b_depth);
    }
    a_source += BK;
    b_source += BK * p.ldb;
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < BK; ++kk) {
      float a[TM];
      float b[TN];
#pragma unroll
      for (int i = 0; i < TM; ++i) {
        a[i] = a_tile[row + i][kk];
      }
#pragma unroll
      for (int j = 0; j < TN; ++j) {
        b[j] = b_tile[kk][col + column_offset<RUN>(j)];
      }
      add_outer_product(sums, a, b);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; ++j) {
      if (tile.row + row + i < p.m && tile.col + col + column_offset<RUN>(j) < p.n) {
        update(p.c[(tile.row + row + i) * p.ldc + tile.col + col + column_offset<RUN>(j)], sums[i][j], p.alpha, p.beta);
      }
    }
  }
}

/// Needs rows_split_into_float4 for all three matrices.
__global__ void __launch_bounds__(THREADS, 2) coarse_2d_vectorized_kernel(Problem p) {
  constexpr int A_LD = BM + 4;  // one vector of padding: two threads per bank in the transposed stores, not four
  __shared__ __align__(16) float a_tile[BK][A_LD];
  __shared__ __align__(16) float b_tile[BK][BN];

  const TileOrigin tile = tile_of_block<BM, BN>(p);
  const int row = static_cast<int>(threadIdx.x) / THREADS_N * 4;
  const int col = static_cast<int>(threadIdx.x) % THREADS_N * 4;
  constexpr int A_VECTORS = BK / 4;  // per row of A's tile
  constexpr int B_VECTORS = BN / 4;
  const int a_row = threadIdx.x / A_VECTORS;
  const int a_col = threadIdx.x % A_VECTORS * 4;
  const int b_row = threadIdx.x / B_VECTORS;
  const int b_col = threadIdx.x % B_VECTORS * 4;
  const std::int64_t a_rows_left = p.m - (tile.row + a_row);
  const bool b_col_inside = tile.col + b_col < p.n;
  const float* a_source = p.a + (tile.row + a_row) * p.lda + a_col;
  const float* b_source = p.b + b_row * p.ldb + tile.col + b_col;
  const unsigned depth = static_cast<unsigned>(p.k);
  const unsigned a_depth = depth_inside(a_rows_left > 0, p.k, a_col);
  const unsigned b_depth = depth_inside(b_col_inside, p.k, b_row);

  float sums[TM][TN] = {};
  for (unsigned k = 0; k < depth; k += BK) {
#pragma unroll
    for (int i = 0; i < BM; i += THREADS / A_VECTORS) {
      const float4 value = load_float4_or_zero(a_source + i * p.lda, i < a_rows_left && k < a_depth);
      a_tile[a_col + 0][a_row + i] = value.x;
      a_tile[a_col + 1][a_row + i] = value.y;
      a_tile[a_col + 2][a_row + i] = value.z;
      a_tile[a_col + 3][a_row + i] = value.w;
    }
#pragma unroll
    for (int i = 0; i < BK; i += THREADS / B_VECTORS) {
      store_float4(&b_tile[b_row + i][b_col], load_float4_or_zero(b_source + i * p.ldb, k + i < b_depth));
    }
    a_source += BK;
    b_source += BK * p.ldb;
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < BK; ++kk) {
      float a[TM];
      float b[TN];
      load_groups_of_4<TM, BM / 2>(a, &a_tile[kk][row]);
      load_groups_of_4<TN, BN / 2>(b, &b_tile[kk][col]);
      add_outer_product(sums, a, b);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const std::int64_t c_row = tile.row + row + i / 4 * (BM / 2) + i % 4;
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      const std::int64_t c_col = tile.col + col + column_offset(j);
      if (c_row < p.m && c_col < p.n) {
        update4(p.c + c_row * p.ldc + c_col, &sums[i][j], p.alpha, p.beta);
      }
    }
  }
}

constexpr auto scalar_kernel = coarse_2d_kernel<4, 1>;
// The layouts of the source: a thread's eight columns lie side by side, and A's tile has no padding.
constexpr auto published_kernel = coarse_2d_kernel<TN, 0>;

/// `kernel` takes problems whose rows split into groups of four, and `otherwise` takes all others.
Chapter coarse_2d(void (*kernel)(Problem), void (*otherwise)(Problem)) {
  return Chapter(6, "coarse_2d", "Gautam, 2D coarsening")
      .block(kernel, THREADS, 0, 2)
      .launcher([=](const Problem& p, cudaStream_t stream) {
        const bool aligned = rows_split_into_float4(p.a, p.k, p.lda) && rows_split_into_float4(p.b, p.n, p.ldb) &&
                             rows_split_into_float4(p.c, p.n, p.ldc);
        launch(aligned ? kernel : otherwise, tiles_of<BM, BN>(p), dim3(THREADS), 0, stream, p);
      });
}

const Registration scalar =
    coarse_2d(scalar_kernel, scalar_kernel).summary("128x128 tiles, each thread computes 8x8 elements of C");
const Registration vectorized =
    coarse_2d(coarse_2d_vectorized_kernel, scalar_kernel)
        .variant("vectorized")
        .summary("128x128 tiles, 8x8 per thread, 128-bit accesses, A transposed in shared memory");
const Registration published = coarse_2d(published_kernel, published_kernel)
                                   .variant("published")
                                   .summary("eight columns of a thread side by side, no padding, as in the source");

}  // namespace
}  // namespace sgemm
