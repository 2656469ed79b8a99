// Chapter 11, first step: wgmma, tensor cores that read their operands from shared memory
//
// Against 10: there each warp loads fragments, splits them and multiplies them by mma.sync, and every warp that needs a
// fragment splits it. wgmma reads tiles of A and B from shared memory by itself. They have to lie there as terms, so
// another kernel first splits each number into three BF16 terms and writes tiles in the order of shared memory.
//
//   x   |s|exponent|            23 mantissa bits             |     a b = a1 b1 + a1 b2 + a2 b1
//   x1  |s|exponent| 7, rounded|                                       + a2 b2 + a1 b3 + a3 b1
//   x2              |s|exponent| 7, rounded|                         + what is left out, some 2^-25 of it
//   x3                          |s|exponent| 7, rounded|
//
//   block 128 x 128, 8 warps            a k-tile in shared memory: 96 KB, two of them
//   +---------------------+             A  term 1, 128 rows, BK = 64      16 KB, swizzled
//   |       w0-w3         | 64 rows        term 2, the same
//   +---------------------+                term 3
//   |       w4-w7         | 64 rows     B  term 1, 128 columns, BK = 64   16 KB, swizzled
//   +---------------------+                ...
//
//   loop       wait for the k-tile; start its products, six pairs of terms by four steps of 16 elements along k; copy
//              the next k-tile while they are under way (cp.async, 24 copies of 16 bytes a thread); wait for them. Each
//              k-tile takes one barrier.
//   sums       stay in the tensor cores, over all of k, as in 10:single_sum. Tensor cores do not round but cut off.
//   Inf, NaN   as in 10: elements that are not finite are computed again. Numbers between 0 and 2^-100 lack the third
//              term, so they are made NaN as well.
//
// Traffic per element of C: k / 128 numbers of A and of B from global memory, 6 bytes each.
// Limit: the tensor cores wait for a barrier and for copies between two k-tiles.

#include "common/hilbert.hpp"
#include "common/problem.hpp"
#include "common/tiling.cuh"
#include "engine/bf16x6_steps.cuh"
#include "host/bf16x6_steps.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/fence.cuh"
#include "ptx/shared_memory.cuh"
#include "ptx/wgmma.cuh"

namespace sgemm {
namespace {

using namespace bf16x6_steps;

constexpr int BM = TILE_ROWS;
constexpr int BN = TILE_ROWS;
constexpr int THREADS = 2 * WARPGROUP;
constexpr int SLOTS = 2;
constexpr int SLOT_BYTES = 2 * TILE_BYTES;  // A, then B
constexpr int SMEM_BYTES = SLOTS * SLOT_BYTES;

__global__ void __launch_bounds__(SPLIT_THREADS) split_kernel(Problem p, SplitOperands operands) { split(p, operands); }

__global__ void __launch_bounds__(THREADS, 1) bf16x6_wgmma_kernel(Problem p, SplitOperands operands) {
  const TileIndex tile = hilbert_tile(blockIdx.x, operands.a_tiles, operands.b_tiles);
  const unsigned ring = shared_address(dynamic_smem());
  const unsigned char* const a_source = operands.a(tile.row) + threadIdx.x * 16;
  const unsigned char* const b_source = operands.b(tile.col) + threadIdx.x * 16;
  const auto copy = [&](int k_tile) {
    const unsigned slot = ring + k_tile % SLOTS * SLOT_BYTES + threadIdx.x * 16;
    const std::int64_t from = static_cast<std::int64_t>(k_tile) * TILE_BYTES;
#pragma unroll
    for (int i = 0; i < TILE_BYTES; i += THREADS * 16) {
      cp_async<16>(slot + i, a_source + from + i);
      cp_async<16>(slot + TILE_BYTES + i, b_source + from + i);
    }
    cp_async_commit_group();
  };

  float sums[64] = {};
  copy(0);
#pragma unroll 1
  for (int k_tile = 0; k_tile < operands.k_tiles; ++k_tile) {
    cp_async_wait_group<0>();
    fence_proxy_async();
    __syncthreads();  // all copies are there, and all products of the other slot are done
    const unsigned slot = ring + k_tile % SLOTS * SLOT_BYTES;
    const std::uint64_t a = wgmma_descriptor(slot + threadIdx.x / WARPGROUP * (WGMMA_M * WGMMA_ROW_BYTES));
    const std::uint64_t b = wgmma_descriptor(slot + TILE_BYTES);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < PRODUCTS; ++i) {
#pragma unroll
      for (int k = 0; k < BK; k += WGMMA_K) {
        wgmma_m64n128k16<Bf16>(sums, wgmma_descriptor_at(a, product(i).a * TERM_BYTES + k * BF16_BYTES),
                               wgmma_descriptor_at(b, product(i).b * TERM_BYTES + k * BF16_BYTES), true);
      }
    }
    wgmma_commit_group();
    if (k_tile + 1 < operands.k_tiles) {
      copy(k_tile + 1);
    }
    wgmma_wait_group<0>(sums);
  }
  store(p, tile.row, tile.col, sums);
}

const Registration registered =
    step("1_wgmma", split_kernel, bf16x6_wgmma_kernel, THREADS, SMEM_BYTES, tiles_of<BM, BN>)
        .summary("first step: wgmma multiplies terms from shared memory, sums stay in the tensor cores")
        .accuracy(AccuracyClass::tf32)
        .registration();

}  // namespace
}  // namespace sgemm
