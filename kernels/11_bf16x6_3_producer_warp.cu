// Chapter 11, third step: one warp copies, eight warps multiply, and no barrier of the block lies between them
//
// Against 2_bulk_copy: a ninth warp copies and does nothing else. As in 08 each stage of the ring has two mbarriers:
// `full` ends a phase when the bytes are there, `empty` when all eight multiplying warps are done with them. The two
// warpgroups do not wait for each other any more: while one adds, the tensor cores compute the products of the other.
//
//   w8      empty? copy 0   empty? copy 1   empty? copy 2 ...
//   w0-w3   full? | products | add | full? | products | add | ...
//   w4-w7      full? | products | add | full? | products | add | ...
//
// Limit: power, of which copies take a part.

#include "common/bf16_terms.cuh"
#include "common/hilbert.hpp"
#include "common/problem.hpp"
#include "common/store_accumulators.cuh"
#include "host/launch.cuh"
#include "ptx/cp_async_bulk.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/shared_memory.cuh"
#include "ptx/wgmma.cuh"

#include <cstdint>

namespace sgemm {
namespace {

using namespace bf16_terms;

constexpr int WARP = 32;
constexpr int CONSUMERS = 2 * WARPGROUP;
constexpr int THREADS = CONSUMERS + WARP;
constexpr int STAGES = 2;
constexpr int STAGE_BYTES = 2 * TILE_BYTES;  // A, then B
constexpr int RING_BYTES = STAGES * STAGE_BYTES;
constexpr int SMEM_BYTES = RING_BYTES + 2 * STAGES * MBARRIER_BYTES;

__global__ void __launch_bounds__(SPLIT_THREADS) bf16x6_producer_warp_split_kernel(Problem p, Operands operands) {
  split_tile(p, operands);
}

__global__ void __launch_bounds__(THREADS, 1) bf16x6_producer_warp_kernel(Problem p, Operands operands) {
  const TileIndex tile = hilbert_tile(blockIdx.x, operands.a_tiles, operands.b_tiles);
  const unsigned ring = shared_address(dynamic_smem());
  const unsigned first_full = ring + RING_BYTES;  // a stage's mbarriers
  const unsigned first_empty = first_full + STAGES * MBARRIER_BYTES;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
      mbarrier_init(first_full + stage * MBARRIER_BYTES, 1);
      mbarrier_init(first_empty + stage * MBARRIER_BYTES, CONSUMERS / WARP);
    }
    fence_mbarrier_init();
  }
  __syncthreads();

  if (threadIdx.x >= CONSUMERS) {
    for (int k_tile = 0; threadIdx.x == CONSUMERS && k_tile < operands.k_tiles; ++k_tile) {
      const unsigned stage = ring + k_tile % STAGES * STAGE_BYTES;
      const unsigned full = first_full + k_tile % STAGES * MBARRIER_BYTES;
      mbarrier_wait(first_empty + k_tile % STAGES * MBARRIER_BYTES, k_tile / STAGES % 2 ^ 1);
      mbarrier_arrive_expect_tx(full, STAGE_BYTES);
      cp_async_bulk(stage, operands.tile(tile.row, k_tile), TILE_BYTES, full);
      cp_async_bulk(stage + TILE_BYTES, operands.tile(operands.a_tiles + tile.col, k_tile), TILE_BYTES, full);
    }
    return;  // the consumers wait for every copy, and the block lasts as long as they do
  }

  float sums[64] = {};
#pragma unroll 1
  for (int k_tile = 0; k_tile < operands.k_tiles; ++k_tile) {
    mbarrier_wait(first_full + k_tile % STAGES * MBARRIER_BYTES, k_tile / STAGES % 2);
    const unsigned stage = ring + k_tile % STAGES * STAGE_BYTES;
    float products[64];
    start_products(products, stage + threadIdx.x / WARPGROUP * (WGMMA_M * WGMMA_ROW_BYTES), stage + TILE_BYTES);
    wgmma_wait_group<0>(products);
    mbarrier_arrive_as_warp(first_empty + k_tile % STAGES * MBARRIER_BYTES);
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      sums[i] += products[i];
    }
  }
  store_tile_or_recompute(p, std::int64_t{tile.row} * TILE_ROWS, std::int64_t{tile.col} * TILE_ROWS, sums);
}

void launch_both(const Problem& p, void* workspace, cudaStream_t stream) {
  const Operands operands = Operands::of(p, workspace);
  launch(bf16x6_producer_warp_split_kernel, operands.count(), dim3(SPLIT_THREADS), 0, stream, p, operands);
  launch(bf16x6_producer_warp_kernel, operands.a_tiles * operands.b_tiles, dim3(THREADS), SMEM_BYTES, stream, p,
         operands);
}

Configuration configuration(const Problem& p) { return {"", Operands::of(p, nullptr).bytes(), launch_both}; }

const Registration registered =
    Chapter(11, "bf16x6", "Henry et al.; Ootomo and Yokota")
        .variant("3_producer_warp")
        .summary("third step: one warp copies, two warpgroups multiply, mbarriers synchronise them")
        .needs_code_for_sm_90a()
        .accuracy(AccuracyClass::bf16_split)
        .block(bf16x6_producer_warp_kernel, THREADS, SMEM_BYTES, 1)
        .configuration(configuration);

}  // namespace
}  // namespace sgemm
