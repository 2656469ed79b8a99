// Chapter 03: strips instead of tiles
//
// Against 02: the tiles shrink to one column of A and one row of B per step. Every element copied is still used TILE
// times, so the elements that come from global memory are the same; what changes is the work between barriers, and that
// every warp fetches its element of A by an instruction of its own.
//
//              n
//          +-|====|-+  <- strip of B: 1 x TILE, loaded by the first row of threads
//      k   | |    | |
//          +--------+
//  +-|-+   +--------+       per k:  copy 2 * TILE elements (2 * TILE - 1 threads load, the others are idle)
//  | | |   | | C  | |               __syncthreads
//  | | |   +--------+               one multiply-add per thread
//  +-|-+                            __syncthreads
//    strip of A: TILE x 1, loaded by the first column of threads
//
// Traffic per element of C: 2k / TILE loads from global memory, 2k from shared memory, and 2k barriers.
// Limit: the instructions and the waiting around each multiply-add: two barriers of the whole block, and for warp 0 two
// loads from global memory one after the other.

#include "common/epilogue.cuh"
#include "common/problem.hpp"
#include "common/tiling.cuh"
#include "host/launch.cuh"

namespace sgemm {
namespace {

constexpr int TILE = 32;  // rows and columns of the block's tile of C

__global__ void __launch_bounds__(TILE* TILE) smem_strip_tiled_kernel(Problem p) {
  __shared__ float a_strip[TILE];
  __shared__ float b_strip[TILE];

  const TileOrigin tile = tile_of_block<TILE, TILE>(p);
  const std::int64_t row = tile.row + threadIdx.y;
  const std::int64_t col = tile.col + threadIdx.x;
  const bool row_inside = row < p.m;
  const bool col_inside = col < p.n;
  const float* a = p.a + row * p.lda;
  const float* b = p.b + col;
  const int depth = static_cast<int>(p.k);

  float sum = 0.0F;
  for (int k = 0; k < depth; ++k) {
    if (threadIdx.x == 0) {
      a_strip[threadIdx.y] = load_or_zero(a, row_inside);
    }
    if (threadIdx.y == 0) {
      b_strip[threadIdx.x] = load_or_zero(b, col_inside);
    }
    a += 1;
    b += p.ldb;
    __syncthreads();
    sum += a_strip[threadIdx.y] * b_strip[threadIdx.x];
    __syncthreads();
  }
  if (row_inside && col_inside) {
    update(p.c[row * p.ldc + col], sum, p.alpha, p.beta);
  }
}

const Registration registered =
    Chapter(3, "smem_strip_tiled", "MMUL notes, kernel 3")
        .summary("strips of A and B in shared memory, one of each per step of k")
        .block(smem_strip_tiled_kernel, TILE* TILE, 0, 2)
        .launcher([](const Problem& p, cudaStream_t stream) {
          launch(smem_strip_tiled_kernel, tiles_of<TILE, TILE>(p), dim3(TILE, TILE), 0, stream, p);
        });

}  // namespace
}  // namespace sgemm
