// Chapter 02: shared-memory tiles
//
// Against 01: the TILE x TILE threads of a block still own one element of C each, but they first copy a square tile
// of A and one of B into shared memory together, and every element copied is then used TILE times from there.
//
//                  n
//             +--|tile|--+      step s of k / TILE:
//         k   |  | Bs |  |        __syncthreads       nobody overwrites a tile that is still read
//             +--|----|--+        copy                As <- A[rows][s*TILE ...], Bs <- B[s*TILE ...][cols]
//   k                             __syncthreads       both tiles are complete
//  +-|As|-+   +----------+        TILE multiply-adds  sum += As[row][j] * Bs[j][col]
//  | |  | |   |  | C  |  | m
//  +------+   +----------+
//
// Traffic per element of C: 2k / TILE loads from global memory (01: 2k) and 2k from shared memory.
// Limit: the same data pipe as before, which serves shared memory too: with one element per thread each FMA needs an
// element of B from it. A's elements are the same for a whole warp and come four at a time, which leaves about one and
// a half wavefronts per FMA where 01 needs two.
//
// Variants: `tile16` uses 16 x 16 tiles. `numba_mapping` is tile16 with the thread mapping of the Numba slides:
// threadIdx.x counts rows, which scatters a warp's loads over 16 rows of A, B and C and piles its shared-memory
// accesses onto few banks.

#include "common/epilogue.cuh"
#include "common/problem.hpp"
#include "common/tiling.cuh"
#include "host/launch.cuh"

namespace sgemm {
namespace {

/// The axis of C along which threads with neighbouring threadIdx.x spread.
enum class ThreadX { columns, rows };

template <int TILE, ThreadX THREAD_X>
__global__ void __launch_bounds__(TILE* TILE) smem_tiled_kernel(Problem p) {
  __shared__ float a_tile[TILE][TILE];
  __shared__ float b_tile[TILE][TILE];

  const int tile_row = THREAD_X == ThreadX::columns ? threadIdx.y : threadIdx.x;
  const int tile_col = THREAD_X == ThreadX::columns ? threadIdx.x : threadIdx.y;
  const TileOrigin tile = tile_of_block<TILE, TILE>(p);
  const std::int64_t row = tile.row + tile_row;
  const std::int64_t col = tile.col + tile_col;
  const bool row_inside = row < p.m;
  const bool col_inside = col < p.n;
  const float* a = p.a + row * p.lda + tile_col;
  const float* b = p.b + tile_row * p.ldb + col;
  const unsigned depth = static_cast<unsigned>(p.k);
  const unsigned a_depth = depth_inside(row_inside, p.k, tile_col);
  const unsigned b_depth = depth_inside(col_inside, p.k, tile_row);

  float sum = 0.0F;
  for (unsigned k = 0; k < depth; k += TILE) {
    // The loads are under way while the block waits for the last reader of the tiles they will replace.
    const float a_element = load_or_zero(a, k < a_depth);
    const float b_element = load_or_zero(b, k < b_depth);
    a += TILE;
    b += TILE * p.ldb;
    __syncthreads();
    a_tile[tile_row][tile_col] = a_element;
    b_tile[tile_row][tile_col] = b_element;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < TILE; ++j) {
      sum += a_tile[tile_row][j] * b_tile[j][tile_col];
    }
  }
  if (row_inside && col_inside) {
    update(p.c[row * p.ldc + col], sum, p.alpha, p.beta);
  }
}

template <int TILE, ThreadX THREAD_X>
Chapter smem_tiled() {
  return Chapter(2, "smem_tiled", "MMUL notes, kernel 2; Matrix Multiplication in CUDA; Numba slides")
      .block(smem_tiled_kernel<TILE, THREAD_X>, TILE * TILE, 0, TILE == 32 ? 2 : 8)
      .launcher([](const Problem& p, cudaStream_t stream) {
        launch(smem_tiled_kernel<TILE, THREAD_X>, tiles_of<TILE, TILE>(p), dim3(TILE, TILE), 0, stream, p);
      });
}

const Registration tile32 = smem_tiled<32, ThreadX::columns>().summary("32x32 tiles of A and B in shared memory");
const Registration tile16 =
    smem_tiled<16, ThreadX::columns>().variant("tile16").summary("16x16 tiles of A and B in shared memory");
const Registration numba_mapping = smem_tiled<16, ThreadX::rows>()
                                       .variant("numba_mapping")
                                       .summary("16x16 tiles, threadIdx.x along rows as in the Numba slides");

}  // namespace
}  // namespace sgemm
