// Chapter 11, fourth step: one warp copies, eight warps multiply, and no barrier of the block lies between them
//
// Against 3_bulk_copy: a ninth warp copies and does nothing else. As in 08 each slot of the ring has two mbarriers:
// `full` ends a phase when the bytes are there, `empty` when all eight multiplying warps are done with them. The two
// warpgroups do not wait for each other any more: while one adds, the tensor cores compute the products of the other.
//
//   w8      empty? copy 0   empty? copy 1   empty? copy 2 ...
//   w0-w3   full? | products | add | full? | products | add | ...
//   w4-w7      full? | products | add | full? | products | add | ...
//
// Limit: power, of which copies take a part.

#include "common/hilbert.hpp"
#include "common/problem.hpp"
#include "common/tiling.cuh"
#include "engine/bf16x6_steps.cuh"
#include "host/bf16x6_steps.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/cp_async_bulk.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/shared_memory.cuh"
#include "ptx/wgmma.cuh"

namespace sgemm {
namespace {

using namespace bf16x6_steps;

constexpr int BM = TILE_ROWS;
constexpr int BN = TILE_ROWS;
constexpr int CONSUMERS = 2 * WARPGROUP;
constexpr int THREADS = CONSUMERS + WARP;
constexpr int SLOTS = 2;
constexpr int SLOT_BYTES = 2 * TILE_BYTES;  // A, then B
constexpr int RING_BYTES = SLOTS * SLOT_BYTES;
constexpr int SMEM_BYTES = RING_BYTES + 2 * SLOTS * MBARRIER_BYTES;

__global__ void __launch_bounds__(SPLIT_THREADS) split_kernel(Problem p, SplitOperands operands) { split(p, operands); }

__global__ void __launch_bounds__(THREADS, 1) bf16x6_producer_warp_kernel(Problem p, SplitOperands operands) {
  const TileIndex tile = hilbert_tile(blockIdx.x, operands.a_tiles, operands.b_tiles);
  const unsigned ring = shared_address(dynamic_smem());
  const unsigned full = ring + RING_BYTES;  // a slot's mbarriers
  const unsigned empty = full + SLOTS * MBARRIER_BYTES;
  if (threadIdx.x == 0) {
    for (int index = 0; index < SLOTS; ++index) {
      mbarrier_init(full + index * MBARRIER_BYTES, 1);
      mbarrier_init(empty + index * MBARRIER_BYTES, CONSUMERS / WARP);
    }
    fence_mbarrier_init();
  }
  __syncthreads();

  if (threadIdx.x >= CONSUMERS) {
    if (threadIdx.x == CONSUMERS) {
      const unsigned char* a = operands.a(tile.row);
      const unsigned char* b = operands.b(tile.col);
      for (int k_tile = 0; k_tile < operands.k_tiles; ++k_tile) {
        const int index = k_tile % SLOTS;
        const unsigned slot = ring + index * SLOT_BYTES;
        mbarrier_wait(empty + index * MBARRIER_BYTES, k_tile / SLOTS % 2 ^ 1);
        mbarrier_arrive_expect_tx(full + index * MBARRIER_BYTES, SLOT_BYTES);
        cp_async_bulk(slot, a, TILE_BYTES, full + index * MBARRIER_BYTES);
        cp_async_bulk(slot + TILE_BYTES, b, TILE_BYTES, full + index * MBARRIER_BYTES);
        a += TILE_BYTES;
        b += TILE_BYTES;
      }
    }
    return;  // the consumers wait for every copy, and the block lasts as long as they do
  }

  float sums[64] = {};
#pragma unroll 1
  for (int k_tile = 0; k_tile < operands.k_tiles; ++k_tile) {
    const int index = k_tile % SLOTS;
    mbarrier_wait(full + index * MBARRIER_BYTES, k_tile / SLOTS % 2);
    const unsigned slot = ring + index * SLOT_BYTES;
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
    wgmma_wait_group<0>(products);
    __syncwarp();
    if (threadIdx.x % WARP == 0) {
      mbarrier_arrive(empty + index * MBARRIER_BYTES);
    }
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      sums[i] += products[i];
    }
  }
  store(p, tile.row, tile.col, sums);
}

const Registration registered =
    step("4_producer_warp", split_kernel, bf16x6_producer_warp_kernel, THREADS, SMEM_BYTES, tiles_of<BM, BN>)
        .summary("fourth step: one warp copies, two warpgroups multiply, mbarriers synchronise them")
        .accuracy(AccuracyClass::bf16_split)
        .registration();

}  // namespace
}  // namespace sgemm
