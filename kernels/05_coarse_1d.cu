// Chapter 05: one-dimensional thread coarsening
//
// Against 04: both operands are in shared memory again, copied by coalesced loads, and a thread computes COARSE
// elements of one column of C. An element of B read from shared memory serves COARSE multiply-adds.
//
//                 BN = 64                  512 threads: 8 rows of threads x 64 columns
//               +--------+
//       BK = 8  |   Bs   |                 thread (ty, tx):  C[ty*8 + 0 ... ty*8 + 7][tx]
//               +--------+                   per k: 1 element of Bs, 8 of As (the same 8 for a whole warp)
//    BK = 8
//    +----+     +---|----+
//    | As |     |   | 8  | BM = 64
//    +----+     +---|----+
//
// Shared memory: (64 * 8 + 8 * 64) * 4 B = 4096 B.
// Traffic per element of C: k / 64 loads of A and of B from global memory; from shared memory k of A, broadcast to
// the warp, and k / 8 of B.
// Limit: still the data pipe of shared memory and L1: 9 values are read for 8 multiply-adds, A's four at a time, which
// makes three wavefronts for four FMAs of a warp.

#include "common/epilogue.cuh"
#include "common/problem.hpp"
#include "common/tiling.cuh"
#include "host/launch.cuh"

namespace sgemm {
namespace {

constexpr int BM = 64;     // rows of the block's tile of C
constexpr int BN = 64;     // columns of it
constexpr int BK = 8;      // depth of a step
constexpr int COARSE = 8;  // elements of a column of C per thread
constexpr int THREADS = BM * BN / COARSE;
static_assert(THREADS == BM * BK && THREADS == BK * BN, "every thread copies one element of each tile");

// Blocks that fill an SM, four on an H200: asking for them keeps the compiler at 32 registers there.
__global__ void __launch_bounds__(THREADS, THREADS_PER_SM / THREADS) coarse_1d_kernel(Problem p) {
  __shared__ float a_tile[BM][BK];
  __shared__ float b_tile[BK][BN];

  const TileOrigin tile = tile_of_block<BM, BN>(p);
  const int row = threadIdx.x / BN * COARSE;
  const int col = threadIdx.x % BN;
  const int a_row = threadIdx.x / BK;
  const int a_col = threadIdx.x % BK;
  const int b_row = threadIdx.x / BN;
  const int b_col = threadIdx.x % BN;
  const bool a_row_inside = tile.row + a_row < p.m;
  const bool b_col_inside = tile.col + b_col < p.n;
  const float* a_source = p.a + (tile.row + a_row) * p.lda + a_col;
  const float* b_source = p.b + b_row * p.ldb + tile.col + b_col;
  const unsigned depth = static_cast<unsigned>(p.k);
  const unsigned a_depth = depth_inside(a_row_inside, p.k, a_col);
  const unsigned b_depth = depth_inside(b_col_inside, p.k, b_row);

  float sums[COARSE] = {};
  for (unsigned k = 0; k < depth; k += BK) {
    const float a_element = load_or_zero(a_source, k < a_depth);
    const float b_element = load_or_zero(b_source, k < b_depth);
    a_source += BK;
    b_source += BK * p.ldb;
    __syncthreads();
    a_tile[a_row][a_col] = a_element;
    b_tile[b_row][b_col] = b_element;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < BK; ++j) {
      const float b = b_tile[j][col];
#pragma unroll
      for (int i = 0; i < COARSE; ++i) {
        sums[i] += a_tile[row + i][j] * b;
      }
    }
  }
#pragma unroll
  for (int i = 0; i < COARSE; ++i) {
    if (tile.row + row + i < p.m && tile.col + col < p.n) {
      update(p.c[(tile.row + row + i) * p.ldc + tile.col + col], sums[i], p.alpha, p.beta);
    }
  }
}

const Registration registered = Chapter(5, "coarse_1d", "Gautam, 1D coarsening")
                                    .summary("64x64 tiles, each thread computes 8 elements of a column of C")
                                    .block(coarse_1d_kernel, THREADS, 0, 4)
                                    .launcher([](const Problem& p, cudaStream_t stream) {
                                      launch(coarse_1d_kernel, tiles_of<BM, BN>(p), dim3(THREADS), 0, stream, p);
                                    });

}  // namespace
}  // namespace sgemm
