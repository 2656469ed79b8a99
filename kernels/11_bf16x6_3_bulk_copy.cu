// Chapter 11, third step: one thread copies, by the tensor memory accelerator
//
// Against 2_promoted: a tile lies in global memory in the order in which shared memory holds it, 48 KB in a row. So one
// instruction of one thread, cp.async.bulk, copies it. Before, 256 threads issued 12 copies each. Bulk copies bypass
// the registers and the load/store units, and the 256 threads neither compute addresses nor wait for copies of their
// own.
//
//   mbarrier  one for each slot. The copying thread arrives at it and announces 96 KB. The accelerator subtracts the
//             bytes that it has written. The phase ends when no byte is missing, and then threads that have waited may
//             read them. wgmma may read them without a fence, because copies and wgmma share a path to shared memory.
//
// The copy of the next k-tile starts before the products of this one, because starting it costs nothing.
//
// Limit: a barrier of the block for each k-tile; both warpgroups add at the same time.

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
constexpr int THREADS = 2 * WARPGROUP;
constexpr int SLOTS = 2;
constexpr int SLOT_BYTES = 2 * TILE_BYTES;  // A, then B
constexpr int RING_BYTES = SLOTS * SLOT_BYTES;
constexpr int SMEM_BYTES = RING_BYTES + SLOTS * MBARRIER_BYTES;

__global__ void __launch_bounds__(SPLIT_THREADS) split_kernel(Problem p, SplitOperands operands) { split(p, operands); }

__global__ void __launch_bounds__(THREADS, 1) bf16x6_bulk_copy_kernel(Problem p, SplitOperands operands) {
  const TileIndex tile = hilbert_tile(blockIdx.x, operands.a_tiles, operands.b_tiles);
  const unsigned ring = shared_address(dynamic_smem());
  const unsigned full = ring + RING_BYTES;  // a slot's mbarrier: its k-tile has arrived
  const auto copy = [&](int k_tile) {       // by one thread
    const int index = k_tile % SLOTS;
    const unsigned slot = ring + index * SLOT_BYTES;
    const std::int64_t from = static_cast<std::int64_t>(k_tile) * TILE_BYTES;
    mbarrier_arrive_expect_tx(full + index * MBARRIER_BYTES, SLOT_BYTES);
    cp_async_bulk(slot, operands.a(tile.row) + from, TILE_BYTES, full + index * MBARRIER_BYTES);
    cp_async_bulk(slot + TILE_BYTES, operands.b(tile.col) + from, TILE_BYTES, full + index * MBARRIER_BYTES);
  };
  if (threadIdx.x == 0) {
    for (int index = 0; index < SLOTS; ++index) {
      mbarrier_init(full + index * MBARRIER_BYTES, 1);
    }
    fence_mbarrier_init();
    copy(0);
  }

  float sums[64] = {};
#pragma unroll 1
  for (int k_tile = 0; k_tile < operands.k_tiles; ++k_tile) {
    __syncthreads();  // all products of the other slot are done
    if (threadIdx.x == 0 && k_tile + 1 < operands.k_tiles) {
      copy(k_tile + 1);
    }
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
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      sums[i] += products[i];
    }
  }
  store(p, tile.row, tile.col, sums);
}

const Registration registered =
    step("3_bulk_copy", split_kernel, bf16x6_bulk_copy_kernel, THREADS, SMEM_BYTES, tiles_of<BM, BN>)
        .summary("third step: one thread copies whole tiles by cp.async.bulk")
        .accuracy(AccuracyClass::bf16_split)
        .registration();

}  // namespace
}  // namespace sgemm
