// Chapter 11: each FP32 product becomes six BF16 products on Hopper's tensor cores
//
// Three steps lead here from 10, each in a file of its own: 1_promoted, 2_bulk_copy and 3_producer_warp.
// Against 3_producer_warp: a k-tile of A meets two of B, so two products take three copied tiles instead of four. And
// blocks are persistent: each SM has one, which takes tile after tile of C along the Hilbert curve.
//
//   block 128 x 256, 12 warps                   ring of A   2 tiles of 48 KB
//   +---------------+---------------+           ring of B   2 tiles of 48 KB
//   |     w0-w3     |     w0-w3     | 64 rows
//   +---------------+---------------+           w8      A0 B0 B0' A1 B1 B1' ...     each as soon as its stage is empty
//   |     w4-w7     |     w4-w7     | 64 rows   w0-w3   A0 x B0, add, A0 x B0', add, A1 x B1, ...
//   +---------------+---------------+
//     tile of B       another one               a tile of B is given back after its products, A's after both
//
//   registers  the sums over all k take 128 of a thread, and those of a k-tile by one tile of B 64. That is more than
//              the 168 that each of 384 threads gets. So setmaxnreg leaves 40 to producers, and gives 232 to consumers.
//   Inf, NaN   and others but 0 below 2^-100 become Inf or NaN. Elements of C that are not finite are computed by FMAs.
//   tiles      the rings go on from tile to tile: the producer copies for the next tile of C while C is stored.
//   window     a producer more than two k-tiles ahead of the average waits, so that the L2 still has what blocks share.
//
// Traffic per element of C: k / 256 numbers of A and k / 128 of B from global memory, three terms of 2 bytes each.
// Limit: tensor cores, which are busy nearly all of the time. Their clock depends on the power that the chip draws.

#include "common/bf16_terms.cuh"
#include "common/ceil_div.hpp"
#include "common/hilbert.hpp"
#include "common/problem.hpp"
#include "common/store_accumulators.cuh"
#include "common/target.hpp"
#include "host/launch.cuh"
#include "ptx/cp_async_bulk.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/shared_memory.cuh"
#include "ptx/wgmma.cuh"

#include <cstdint>

namespace sgemm {
namespace {

using namespace bf16_terms;

constexpr int WARP = 32;
constexpr int B_TILES = 2;  // of a tile of C
constexpr int CONSUMERS = 2 * WARPGROUP;
constexpr int THREADS = CONSUMERS + WARPGROUP;
constexpr int PRODUCER_REGISTERS = 40;   // of 168
constexpr int CONSUMER_REGISTERS = 232;  // with those that the producer warpgroup gives up
constexpr int STAGES = 2;                // of each ring
constexpr int SMEM_BYTES = 2 * STAGES * (TILE_BYTES + 2 * MBARRIER_BYTES);

__global__ void __launch_bounds__(SPLIT_THREADS) bf16x6_split_kernel(Problem p, Operands operands) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    *operands.progress() = 0;
  }
  split_tile(p, operands);
}

/// Stages and mbarriers by their shared addresses, for tile number `count` that passes through the ring.
struct Ring {
  unsigned stages;
  unsigned barriers;

  __device__ unsigned stage(unsigned count) const { return stages + count % STAGES * TILE_BYTES; }
  __device__ unsigned full(unsigned count) const { return barriers + count % STAGES * MBARRIER_BYTES; }
  __device__ unsigned empty(unsigned count) const { return full(count) + STAGES * MBARRIER_BYTES; }
  __device__ static unsigned parity(unsigned count) { return count / STAGES % 2; }
  __device__ __forceinline__ void copy(unsigned count, const unsigned char* source) const {
    mbarrier_wait(empty(count), parity(count) ^ 1U);  // at once while stages are new
    mbarrier_arrive_expect_tx(full(count), TILE_BYTES);
    cp_async_bulk(stage(count), source, TILE_BYTES, full(count));
  }
};

/// The producer thread: for each k-tile of each of the block's tiles of C it copies one of A, then those of B.
__device__ __forceinline__ void produce(const Operands& operands, int tiles, const Ring& a_ring, const Ring& b_ring) {
  // The k-tiles that have a window: few rounds end before blocks are far apart. The executor's blocks take turns.
  const int rounds = TARGET == Target::for_gpu ? tiles / static_cast<int>(gridDim.x) : 0;
  int in_window = rounds < 4 ? 0 : rounds * operands.k_tiles;
  unsigned* const progress = operands.progress();
  unsigned even = 0;  // what all blocks together have begun when all are where this one is
  unsigned a_count = 0;
  unsigned b_count = 0;
  for (int position = blockIdx.x; position < tiles; position += gridDim.x) {
    const TileIndex tile = hilbert_tile(position, operands.a_tiles, ceil_div(operands.b_tiles, B_TILES));
    const int b_end = min((tile.col + 1) * B_TILES, operands.b_tiles);
    for (int k_tile = 0; k_tile < operands.k_tiles; ++k_tile) {
      if (in_window > 0) {
        even += gridDim.x;
        int looks = 128;  // a block gives up at last: another kernel may have the SM of the one that it waits for
        for (unsigned all = atomicAdd(progress, 1U); looks > 0 && all + 2 * gridDim.x < even; --looks) {
          all = atomicAdd(progress, 0U);
        }
        in_window = looks > 0 ? in_window - 1 : 0;
      }
      a_ring.copy(a_count++, operands.tile(tile.row, k_tile));
      for (int b = tile.col * B_TILES; b < b_end; ++b) {
        b_ring.copy(b_count++, operands.tile(operands.a_tiles + b, k_tile));
      }
    }
  }
}

__global__ void __launch_bounds__(THREADS, 1) bf16x6_kernel(Problem p, Operands operands, int tiles) {
  const unsigned smem = shared_address(dynamic_smem());
  const unsigned barriers = smem + 2 * STAGES * TILE_BYTES;
  const Ring a_ring{smem, barriers};
  const Ring b_ring{smem + STAGES * TILE_BYTES, barriers + 2 * STAGES * MBARRIER_BYTES};
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
      for (const Ring& ring : {a_ring, b_ring}) {
        mbarrier_init(ring.full(stage), 1);
        mbarrier_init(ring.empty(stage), CONSUMERS / WARP);
      }
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x >= CONSUMERS) {
    setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (threadIdx.x == CONSUMERS) {
      produce(operands, tiles, a_ring, b_ring);
    }
    return;  // the consumers wait for every copy, and the block lasts as long as they do
  }

  setmaxnreg_inc<CONSUMER_REGISTERS>();
  unsigned a_count = 0;
  unsigned b_count = 0;
#pragma unroll 1
  for (int position = blockIdx.x; position < tiles; position += gridDim.x) {
    const TileIndex tile = hilbert_tile(position, operands.a_tiles, ceil_div(operands.b_tiles, B_TILES));
    const int inside = min(B_TILES, operands.b_tiles - tile.col * B_TILES);  // one where C ends in the first
    float sums[B_TILES][64] = {};
#pragma unroll 1
    for (int k_tile = 0; k_tile < operands.k_tiles; ++k_tile) {
      mbarrier_wait(a_ring.full(a_count), Ring::parity(a_count));
#pragma unroll
      for (int j = 0; j < B_TILES; ++j) {
        if (j == inside) {
          break;
        }
        mbarrier_wait(b_ring.full(b_count), Ring::parity(b_count));
        const unsigned rows_of_group = threadIdx.x / WARPGROUP * (WGMMA_M * WGMMA_ROW_BYTES);
        float products[64];
        start_products(products, a_ring.stage(a_count) + rows_of_group, b_ring.stage(b_count));
        wgmma_wait_group<0>(products);
        __syncwarp();
        if (threadIdx.x % WARP == 0) {
          mbarrier_arrive(b_ring.empty(b_count));
          if (j + 1 == inside) {
            mbarrier_arrive(a_ring.empty(a_count));
          }
        }
        ++b_count;
#pragma unroll
        for (int i = 0; i < 64; ++i) {
          sums[j][i] += products[i];
        }
      }
      ++a_count;
    }
#pragma unroll
    for (int j = 0; j < B_TILES; ++j) {
      store_tile_or_recompute(p, std::int64_t{tile.row} * TILE_ROWS, (std::int64_t{tile.col} * B_TILES + j) * TILE_ROWS,
                              sums[j]);
    }
  }
}

void launch_both(const Problem& p, void* workspace, cudaStream_t stream) {
  const Operands operands = Operands::of(p, workspace);
  launch(bf16x6_split_kernel, operands.count(), dim3(SPLIT_THREADS), 0, stream, p, operands);
  const int tiles = operands.a_tiles * ceil_div(operands.b_tiles, B_TILES);
  launch(bf16x6_kernel, persistent_blocks(tiles), dim3(THREADS), SMEM_BYTES, stream, p, operands, tiles);
}

Configuration configuration(const Problem& p) { return {"", Operands::of(p, nullptr).bytes(), launch_both}; }

const Registration registered =
    Chapter(11, "bf16x6", "Henry et al.; Ootomo and Yokota")
        .summary("six BF16 products by wgmma for each FP32 product, operands split into three terms")
        .needs_code_for_sm_90a()
        .accuracy(AccuracyClass::bf16_split)
        .block(bf16x6_kernel, THREADS, SMEM_BYTES, 1)
        .configuration(configuration);

}  // namespace
}  // namespace sgemm
