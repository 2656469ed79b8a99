// Chapter 01: naive
//
// One thread computes one element of C and reads a whole row of A and a whole column of B for it.
//
//            n                        lanes of a warp, default variant: 32 neighbouring columns
//        +---|------+                   A: one address, broadcast        (1 sector per request)
//   k    | B |      |                   B: 32 neighbouring floats        (4 sectors per request)
//        +---|------+                 lanes of a warp, `uncoalesced`: 32 neighbouring rows
//  k                                    A: 32 addresses lda floats apart (32 sectors per request)
// +------+ +---|------+                 B: one address, broadcast
// |======| |   c      |  m            and the stores to C are scattered in the same way.
// +------+ +----------+
//
// Traffic: 2k loads per element of C, none shared through on-chip memory by the program; only the caches
// stand between this kernel and 8 bytes per multiply-add.
// Limit: the data pipe of the L1 cache, one wavefront per cycle and SM. Every FMA of a warp needs two, one for A and
// one for B, where the SM could issue four FMAs per cycle; uncoalesced it needs 33.

#include "common/epilogue.cuh"
#include "common/problem.hpp"
#include "common/tiling.cuh"
#include "host/launch.cuh"

namespace sgemm {
namespace {

constexpr int BLOCK = 32;  // threads along each side of a square block

/// The axis of C along which the 32 threads of a warp spread.
enum class WarpAlong { columns, rows };

template <WarpAlong ALONG>
__global__ void __launch_bounds__(BLOCK* BLOCK) naive_kernel(Problem p) {
  const TileOrigin tile = tile_of_block<BLOCK, BLOCK>(p);
  const std::int64_t row = tile.row + (ALONG == WarpAlong::columns ? threadIdx.y : threadIdx.x);
  const std::int64_t col = tile.col + (ALONG == WarpAlong::columns ? threadIdx.x : threadIdx.y);
  if (row >= p.m || col >= p.n) {
    return;
  }
  const float* const a = p.a + row * p.lda;
  const float* const b = p.b + col;
  const int depth = static_cast<int>(p.k);
  float sum = 0.0F;
  for (int k = 0; k < depth; ++k) {
    sum += a[k] * b[k * p.ldb];
  }
  update(p.c[row * p.ldc + col], sum, p.alpha, p.beta);
}

template <WarpAlong ALONG>
Chapter naive() {
  return Chapter(1, "naive", "MMUL notes, kernel 1; Matrix Multiplication in CUDA; Numba slides")
      .block(naive_kernel<ALONG>, BLOCK * BLOCK, 0, 2)
      .launcher([](const Problem& p, cudaStream_t stream) {
        launch(naive_kernel<ALONG>, tiles_of<BLOCK, BLOCK>(p), dim3(BLOCK, BLOCK), 0, stream, p);
      });
}

const Registration coalesced =
    naive<WarpAlong::columns>().summary("one thread per element of C, a warp along a row of C");
const Registration uncoalesced =
    naive<WarpAlong::rows>().variant("uncoalesced").summary("one thread per element of C, a warp along a column of C");

}  // namespace
}  // namespace sgemm
