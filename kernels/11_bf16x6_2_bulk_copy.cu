// Chapter 11, second step: one thread copies, by the tensor memory accelerator
//
// Against 1_promoted: a tile lies in global memory in the order in which shared memory holds it, 48 KB in a row. So one
// instruction of one thread, cp.async.bulk, copies it. Before, 256 threads issued 12 copies each. Bulk copies bypass
// the registers and the load/store units, and the 256 threads neither compute addresses nor wait for copies of their
// own.
//
//   thread 0   copy 1    copy 2    copy 3             a copy starts before the products of the k-tile before
//   w0-w3    | products 0, add | products 1, add | ...
//   w4-w7    | products 0, add | products 1, add | ...   | a barrier of the block: the other stage has been read
//
//   mbarrier  one for each stage. The copying thread arrives at it and announces 96 KB. The accelerator subtracts the
//             bytes that it has written. The phase ends when no byte is missing, and then threads that have waited may
//             read them. wgmma may read them without a fence, because copies and wgmma share a path to shared memory.
//
// Limit: a barrier of the block for each k-tile; both warpgroups add at the same time.

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

constexpr int THREADS = 2 * WARPGROUP;
constexpr int STAGES = 2;
constexpr int STAGE_BYTES = 2 * TILE_BYTES;  // A, then B
constexpr int RING_BYTES = STAGES * STAGE_BYTES;
constexpr int SMEM_BYTES = RING_BYTES + STAGES * MBARRIER_BYTES;

__global__ void __launch_bounds__(SPLIT_THREADS) bf16x6_bulk_copy_split_kernel(Problem p, Operands operands) {
  split_tile(p, operands);
}

__global__ void __launch_bounds__(THREADS, 1) bf16x6_bulk_copy_kernel(Problem p, Operands operands) {
  const TileIndex tile = hilbert_tile(blockIdx.x, operands.a_tiles, operands.b_tiles);
  const unsigned ring = shared_address(dynamic_smem());
  const unsigned first_full = ring + RING_BYTES;  // a stage's mbarrier: its k-tile has arrived
  const auto copy = [&](int k_tile) {             // by one thread
    const unsigned stage = ring + k_tile % STAGES * STAGE_BYTES;
    const unsigned full = first_full + k_tile % STAGES * MBARRIER_BYTES;
    mbarrier_arrive_expect_tx(full, STAGE_BYTES);
    cp_async_bulk(stage, operands.tile(tile.row, k_tile), TILE_BYTES, full);
    cp_async_bulk(stage + TILE_BYTES, operands.tile(operands.a_tiles + tile.col, k_tile), TILE_BYTES, full);
  };
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
      mbarrier_init(first_full + stage * MBARRIER_BYTES, 1);
    }
    fence_mbarrier_init();  // the loop begins with the barrier that has to follow
    copy(0);
  }

  float sums[64] = {};
#pragma unroll 1
  for (int k_tile = 0; k_tile < operands.k_tiles; ++k_tile) {
    __syncthreads();  // all products of the other stage are done
    if (threadIdx.x == 0 && k_tile + 1 < operands.k_tiles) {
      copy(k_tile + 1);
    }
    mbarrier_wait(first_full + k_tile % STAGES * MBARRIER_BYTES, k_tile / STAGES % 2);
    const unsigned stage = ring + k_tile % STAGES * STAGE_BYTES;
    float products[64];
    start_products(products, stage + threadIdx.x / WARPGROUP * (WGMMA_M * WGMMA_ROW_BYTES), stage + TILE_BYTES);
    wgmma_wait_group<0>(products);
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      sums[i] += products[i];
    }
  }
  store_tile_or_recompute(p, std::int64_t{tile.row} * TILE_ROWS, std::int64_t{tile.col} * TILE_ROWS, sums);
}

void launch_both(const Problem& p, void* workspace, cudaStream_t stream) {
  const Operands operands = Operands::of(p, workspace);
  launch(bf16x6_bulk_copy_split_kernel, operands.count(), dim3(SPLIT_THREADS), 0, stream, p, operands);
  launch(bf16x6_bulk_copy_kernel, operands.a_tiles * operands.b_tiles, dim3(THREADS), SMEM_BYTES, stream, p, operands);
}

Configuration configuration(const Problem& p) { return {"", Operands::of(p, nullptr).bytes(), launch_both}; }

const Registration registered = Chapter(11, "bf16x6", "Henry et al.; Ootomo and Yokota")
                                    .variant("2_bulk_copy")
                                    .summary("second step: one thread copies whole tiles by cp.async.bulk")
                                    .needs_code_for_sm_90a()
                                    .accuracy(AccuracyClass::bf16_split)
                                    .block(bf16x6_bulk_copy_kernel, THREADS, SMEM_BYTES, 1)
                                    .configuration(configuration);

}  // namespace
}  // namespace sgemm
