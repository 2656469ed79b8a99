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
using Ring = StageRing<STAGES, TILE_BYTES>;
constexpr int B_RING = ceil_div(Ring::BYTES, WGMMA_ALIGNMENT) * WGMMA_ALIGNMENT;  // its place, behind that of A
constexpr int SMEM_BYTES = B_RING + Ring::BYTES;

__global__ void __launch_bounds__(SPLIT_THREADS) bf16x6_split_kernel(Problem p, Operands operands) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    *operands.progress() = 0;
  }
  split_tile(p, operands);
}

/// Fills the next stage, by one thread.
__device__ __forceinline__ void copy(Ring& ring, const unsigned char* source) {
  ring.wait_until_empty();  // returns at once while stages are new
  mbarrier_arrive_expect_tx(ring.full(), TILE_BYTES);
  cp_async_bulk(ring.data(), source, TILE_BYTES, ring.full());
  ring.advance();
}

/// The producer thread: for each k-tile of each of the block's tiles of C it copies one of A, then those of B.
__device__ __forceinline__ void produce(const Operands& operands, int tiles, Ring a_ring, Ring b_ring) {
  // The k-tiles that have a window: few rounds end before blocks are far apart. The executor's blocks take turns.
  const int rounds = TARGET == Target::for_gpu ? tiles / static_cast<int>(gridDim.x) : 0;
  int in_window = rounds < 4 ? 0 : rounds * operands.k_tiles;
  unsigned* const progress = operands.progress();
  unsigned even = 0;  // what all blocks together have begun when all are where this one is
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
      copy(a_ring, operands.tile(tile.row, k_tile));
      for (int b = tile.col * B_TILES; b < b_end; ++b) {
        copy(b_ring, operands.tile(operands.a_tiles + b, k_tile));
      }
    }
  }
}

__global__ void __launch_bounds__(THREADS, 1) bf16x6_kernel(Problem p, Operands operands, int tiles) {
  const unsigned smem = shared_address(dynamic_smem());
  Ring a_ring(smem);
  Ring b_ring(smem + B_RING);
  Ring::init(smem, CONSUMERS / WARP, 1);
  Ring::init(smem + B_RING, CONSUMERS / WARP, 1);
  fence_mbarrier_init();
  __syncthreads();
  if (threadIdx.x >= CONSUMERS) {
    setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (threadIdx.x == CONSUMERS) {
      produce(operands, tiles, a_ring, b_ring);
    }
    return;  // the consumers wait for every copy, and the block lasts as long as they do
  }

  setmaxnreg_inc<CONSUMER_REGISTERS>();
#pragma unroll 1
  for (int position = blockIdx.x; position < tiles; position += gridDim.x) {
    const TileIndex tile = hilbert_tile(position, operands.a_tiles, ceil_div(operands.b_tiles, B_TILES));
    const int inside = min(B_TILES, operands.b_tiles - tile.col * B_TILES);  // one where C ends in the first
    float sums[B_TILES][64] = {};
#pragma unroll 1
    for (int k_tile = 0; k_tile < operands.k_tiles; ++k_tile) {
      a_ring.wait_until_full();
#pragma unroll
      for (int j = 0; j < B_TILES; ++j) {
        if (j == inside) {
          break;
        }
        b_ring.wait_until_full();
        const unsigned rows_of_group = threadIdx.x / WARPGROUP * (WGMMA_M * WGMMA_ROW_BYTES);
        float products[64];
        start_products(products, a_ring.data() + rows_of_group, b_ring.data());
        wgmma_wait_group<0>(products);
        b_ring.release();
        if (j + 1 == inside) {
          a_ring.release();
        }
#pragma unroll
        for (int i = 0; i < 64; ++i) {
          sums[j][i] += products[i];
        }
      }
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
