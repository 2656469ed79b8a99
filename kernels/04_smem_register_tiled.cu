// Chapter 04: A in registers, B in shared memory
//
// Against 02: a thread computes a whole row of the block's tile of C (thread coarsening), so an element of A is used
// by one thread only and moves from shared memory to that thread's registers. B is still shared by all threads.
//
//                   TSZ_COLS                block: TSZ_ROWS threads in one dimension, one row of the tile each
//                  +--------+
//      TSZ_STRIPS  |   Bs   |               step: every thread copies one element of Bs   (TSZ_ROWS of them)
//                  +--------+                     __syncthreads
//  TSZ_STRIPS                                     every thread reads TSZ_STRIPS elements of its row of A
//   +-----+        +--------+                     TSZ_COLS * TSZ_STRIPS multiply-adds
//   |  A  | thread |========|  TSZ_ROWS           __syncthreads
//   +-----+        +--------+
//
// TSZ_STRIPS is TSZ_ROWS / TSZ_COLS: with it the tile of B has as many elements as the block has threads, and nobody
// idles while it is copied.
//
// Traffic per element of C: k / TSZ_COLS loads of A and k / TSZ_ROWS of B from global memory; k of B from shared
// memory, each a broadcast to the warp.
// Limit: the loads of A. The 32 threads of a warp read 32 different rows, so that each such load occupies the L1's data
// pipe for 32 wavefronts. More reuse of A would need more sums in registers.

#include "common/epilogue.cuh"
#include "common/problem.hpp"
#include "common/tiling.cuh"
#include "host/launch.cuh"

namespace sgemm {
namespace {

constexpr int TSZ_ROWS = 64;                     // rows of the tile of C, and threads in a block
constexpr int TSZ_COLS = 16;                     // columns of the tile of C, and sums per thread
constexpr int TSZ_STRIPS = TSZ_ROWS / TSZ_COLS;  // rows of B and columns of A per step

__global__ void __launch_bounds__(TSZ_ROWS) smem_register_tiled_kernel(Problem p) {
  __shared__ float b_tile[TSZ_STRIPS][TSZ_COLS];

  const TileOrigin tile = tile_of_block<TSZ_ROWS, TSZ_COLS>(p);
  const int b_row = threadIdx.x / TSZ_COLS;
  const int b_col = threadIdx.x % TSZ_COLS;
  const std::int64_t row = tile.row + threadIdx.x;
  const bool row_inside = row < p.m;
  const bool b_col_inside = tile.col + b_col < p.n;
  const float* a_source = p.a + row * p.lda;
  const float* b_source = p.b + b_row * p.ldb + tile.col + b_col;
  const unsigned depth = static_cast<unsigned>(p.k);
  const unsigned a_depth = depth_inside(row_inside, p.k, 0);
  const unsigned b_depth = depth_inside(b_col_inside, p.k, b_row);

  float sums[TSZ_COLS] = {};
  for (unsigned k = 0; k < depth; k += TSZ_STRIPS) {
    b_tile[b_row][b_col] = load_or_zero(b_source, k < b_depth);
    b_source += TSZ_STRIPS * p.ldb;
    __syncthreads();
    float a[TSZ_STRIPS];
#pragma unroll
    for (int j = 0; j < TSZ_STRIPS; ++j) {
      a[j] = load_or_zero(a_source + j, k + j < a_depth);
    }
    a_source += TSZ_STRIPS;
#pragma unroll
    for (int i = 0; i < TSZ_COLS; ++i) {
#pragma unroll
      for (int j = 0; j < TSZ_STRIPS; ++j) {
        sums[i] += a[j] * b_tile[j][i];
      }
    }
    __syncthreads();
  }
  if (row_inside) {
#pragma unroll
    for (int i = 0; i < TSZ_COLS; ++i) {
      if (tile.col + i < p.n) {
        update(p.c[row * p.ldc + tile.col + i], sums[i], p.alpha, p.beta);
      }
    }
  }
}

const Registration registered =
    Chapter(4, "smem_register_tiled", "MMUL notes, kernel 4")
        .summary("A in registers, B in shared memory, a row of a 64x16 tile per thread")
        .block(smem_register_tiled_kernel, TSZ_ROWS, 0, 18)
        .launcher([](const Problem& p, cudaStream_t stream) {
          launch(smem_register_tiled_kernel, tiles_of<TSZ_ROWS, TSZ_COLS>(p), dim3(TSZ_ROWS), 0, stream, p);
        });

}  // namespace
}  // namespace sgemm
