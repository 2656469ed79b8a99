// Chapter 11, second step: FP32 units add the sums of k-tiles
//
// Against 1_wgmma: tensor cores cut off the last bits of their sums, so that a long sum drifts towards 0. Each k-tile's
// sum starts at 0 in the tensor cores, with the smallest products first, and is added to the sum over all k by FADDs,
// as in 10. A thread holds both, 64 registers each.
//
//   1_wgmma   sums = sums + 24 products + 24 products + ...                         in tensor cores
//   here      sums = sums + (24 products) + (24 products) + ...                     "+" by FP32 units
//                           from 0          from 0
//
// The first product of a k-tile does not add. wgmma replaces the content of D then, and no code has to set D to 0.
//
// Limit: as before. While a block adds, 64 FADDs a thread, its tensor cores have nothing to do.

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

__global__ void __launch_bounds__(THREADS, 1) bf16x6_promoted_kernel(Problem p, SplitOperands operands) {
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
    float products[64];
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < PRODUCTS; ++i) {
#pragma unroll
      for (int k = 0; k < BK; k += WGMMA_K) {
        wgmma_m64n128k16<Bf16>(products, wgmma_descriptor_at(a, product(i).a * TERM_BYTES + k * BF16_BYTES),
                               wgmma_descriptor_at(b, product(i).b * TERM_BYTES + k * BF16_BYTES), i + k > 0);
      }
    }
    wgmma_commit_group();
    if (k_tile + 1 < operands.k_tiles) {
      copy(k_tile + 1);
    }
    wgmma_wait_group<0>(products);
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      sums[i] += products[i];
    }
  }
  store(p, tile.row, tile.col, sums);
}

const Registration registered =
    step("2_promoted", split_kernel, bf16x6_promoted_kernel, THREADS, SMEM_BYTES, tiles_of<BM, BN>)
        .summary("second step: FP32 units add the sums of k-tiles")
        .accuracy(AccuracyClass::bf16_split)
        .registration();

}  // namespace
}  // namespace sgemm
