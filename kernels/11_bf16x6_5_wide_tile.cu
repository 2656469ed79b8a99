// Chapter 11, fifth step: a block tile of 128 x 256, with a quarter fewer bytes to copy
//
// Against 4_producer_warp: a k-tile of A meets two of B, so two products take three copied tiles instead of four. The
// sums over all k then take 128 registers of a thread, and the sums of a k-tile would take 128 more. But only 64 of
// these are ever alive, because the first tile of B is multiplied and added before the second. 128 + 64 are still more
// than the 168 registers that each of 384 threads gets. So setmaxnreg leaves 40 to each thread of the producer
// warpgroup, which has three idle warps, and gives 232 to each consumer.
//
//   block 128 x 256                             ring of A   2 tiles of 48 KB
//   +---------------+---------------+           ring of B   2 tiles of 48 KB
//   |     w0-w3     |     w0-w3     | 64 rows
//   +---------------+---------------+           w8      A0 B0 B0' A1 B1 B1' ...     each as soon as its slot is empty
//   |     w4-w7     |     w4-w7     | 64 rows   w0-w3   A0 x B0, add, A0 x B0', add, A1 x B1, ...
//   +---------------+---------------+
//     tile of B       another one               a tile of B is given back after its products, A's after both
//
// Traffic per element of C: k / 256 numbers of A and k / 128 of B from global memory, 6 bytes each.
// Limit: power; and SMs without a tile in the last round, of larger tiles now.

#include "common/ceil_div.hpp"
#include "common/hilbert.hpp"
#include "common/problem.hpp"
#include "common/tiling.cuh"
#include "engine/bf16x6_steps.cuh"
#include "host/bf16x6_steps.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/cp_async_bulk.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/shared_memory.cuh"
#include "ptx/wgmma.cuh"

namespace sgemm {
namespace {

using namespace bf16x6_steps;

constexpr int HALVES = 2;  // of a block tile: tiles of B
constexpr int BM = TILE_ROWS;
constexpr int BN = HALVES * TILE_ROWS;
constexpr int CONSUMERS = 2 * WARPGROUP;
constexpr int THREADS = CONSUMERS + WARPGROUP;
// 64 Ki registers make 168 for each of 384 threads. The consumers get those that the producer gives up.
constexpr int PRODUCER_REGISTERS = 40;
constexpr int CONSUMER_REGISTERS = 168 + (168 - PRODUCER_REGISTERS) / 2;
constexpr int SLOTS = 2;  // of each ring
constexpr int RING_BYTES = SLOTS * TILE_BYTES;
constexpr int BARRIERS_BYTES = 2 * SLOTS * MBARRIER_BYTES;
constexpr int SMEM_BYTES = 2 * (RING_BYTES + BARRIERS_BYTES);

__global__ void __launch_bounds__(SPLIT_THREADS) split_kernel(Problem p, SplitOperands operands) { split(p, operands); }

/// Slots and mbarriers by their shared addresses, for tile number `count` that passes through the ring.
struct Ring {
  unsigned slots;
  unsigned barriers;

  __device__ unsigned slot(unsigned count) const { return slots + count % SLOTS * TILE_BYTES; }
  __device__ unsigned full(unsigned count) const { return barriers + count % SLOTS * MBARRIER_BYTES; }
  __device__ unsigned empty(unsigned count) const { return full(count) + SLOTS * MBARRIER_BYTES; }
  __device__ static unsigned parity(unsigned count) { return count / SLOTS % 2; }
};

__global__ void __launch_bounds__(THREADS, 1) bf16x6_wide_tile_kernel(Problem p, SplitOperands operands) {
  const TileIndex tile = hilbert_tile(blockIdx.x, operands.a_tiles, ceil_div(operands.b_tiles, HALVES));
  const int b_tile = tile.col * HALVES;
  const int halves = operands.b_tiles - b_tile < HALVES ? 1 : HALVES;  // one where C ends in the first half
  const unsigned smem = shared_address(dynamic_smem());
  const Ring a_ring{smem, smem + 2 * RING_BYTES};
  const Ring b_ring{smem + RING_BYTES, smem + 2 * RING_BYTES + BARRIERS_BYTES};
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < SLOTS; ++slot) {
      for (const Ring& ring : {a_ring, b_ring}) {
        mbarrier_init(ring.full(slot), 1);
        mbarrier_init(ring.empty(slot), CONSUMERS / WARP);
      }
    }
    fence_mbarrier_init();
  }
  __syncthreads();

  if (threadIdx.x >= CONSUMERS) {
    setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (threadIdx.x == CONSUMERS) {
      const auto copy = [](const Ring& ring, unsigned count, const unsigned char* source) {
        mbarrier_wait(ring.empty(count), Ring::parity(count) ^ 1U);
        mbarrier_arrive_expect_tx(ring.full(count), TILE_BYTES);
        cp_async_bulk(ring.slot(count), source, TILE_BYTES, ring.full(count));
      };
      unsigned a_count = 0;
      unsigned b_count = 0;
      for (int k_tile = 0; k_tile < operands.k_tiles; ++k_tile) {
        const std::int64_t from = static_cast<std::int64_t>(k_tile) * TILE_BYTES;
        copy(a_ring, a_count++, operands.a(tile.row) + from);
        for (int half = 0; half < halves; ++half) {
          copy(b_ring, b_count++, operands.b(b_tile + half) + from);
        }
      }
    }
    return;  // the consumers wait for every copy, and the block lasts as long as they do
  }

  setmaxnreg_inc<CONSUMER_REGISTERS>();
  float sums[HALVES][64] = {};
  unsigned a_count = 0;
  unsigned b_count = 0;
#pragma unroll 1
  for (int k_tile = 0; k_tile < operands.k_tiles; ++k_tile) {
    mbarrier_wait(a_ring.full(a_count), Ring::parity(a_count));
    const std::uint64_t a =
        wgmma_descriptor(a_ring.slot(a_count) + threadIdx.x / WARPGROUP * (WGMMA_M * WGMMA_ROW_BYTES));
#pragma unroll
    for (int half = 0; half < HALVES; ++half) {
      if (half == halves) {
        break;
      }
      mbarrier_wait(b_ring.full(b_count), Ring::parity(b_count));
      const std::uint64_t b = wgmma_descriptor(b_ring.slot(b_count));
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
        mbarrier_arrive(b_ring.empty(b_count));
        if (half + 1 == halves) {
          mbarrier_arrive(a_ring.empty(a_count));
        }
      }
      ++b_count;
#pragma unroll
      for (int i = 0; i < 64; ++i) {
        sums[half][i] += products[i];
      }
    }
    ++a_count;
  }
#pragma unroll
  for (int half = 0; half < HALVES; ++half) {
    store(p, tile.row, b_tile + half, sums[half]);
  }
}

const Registration registered =
    step("5_wide_tile", split_kernel, bf16x6_wide_tile_kernel, THREADS, SMEM_BYTES, tiles_of<BM, BN>)
        .summary("fifth step: 128x256 tiles, whose two halves share the registers for sums of a k-tile")
        .accuracy(AccuracyClass::bf16_split)
        .registration();

}  // namespace
}  // namespace sgemm
