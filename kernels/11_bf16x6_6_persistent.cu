// Chapter 11, sixth step: persistent blocks, which take tile after tile
//
// Against 5_wide_tile: there is one block for each SM instead of one for each tile. Along the Hilbert curve, block b of
// n takes tiles b, b + n, b + 2 n and so on. The rings go on from tile to tile: while the consumers store C, the
// producer already copies the first tiles of A and B for the next tile of C. Mbarriers are made once.
//
//   w8      ... A63 B63 B63' | A0 B0 ...                | next tile of C
//   w0-w3   ... A63 x B63 .. | store | A0 x B0 ...
//   w4-w7   ... A63 x B63 ..   | store | A0 x B0 ...
//
// Limit: power. 11_bf16x6 itself adds three things: it scales operands, so that none are too small. If tiles do not
// keep all SMs busy, it divides k (stream-k) or takes tiles of 128 x 128. Its second kernel starts before the first has
// ended.

#include "common/ceil_div.hpp"
#include "common/cuda_check.hpp"
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

#include <algorithm>

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

/// A tile of C at a position of the Hilbert curve.
struct Tile {
  int a;
  int b;       ///< the first tile of B
  int halves;  ///< one where C ends in the first half

  __device__ __forceinline__ Tile(const SplitOperands& operands, int position) {
    const TileIndex index = hilbert_tile(position, operands.a_tiles, ceil_div(operands.b_tiles, HALVES));
    a = index.row;
    b = index.col * HALVES;
    halves = operands.b_tiles - b < HALVES ? 1 : HALVES;
  }
};

__device__ __forceinline__ int tile_count(const SplitOperands& operands) {
  return operands.a_tiles * ceil_div(operands.b_tiles, HALVES);
}

__global__ void __launch_bounds__(THREADS, 1) bf16x6_persistent_kernel(Problem p, SplitOperands operands) {
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
      for (int position = blockIdx.x; position < tile_count(operands); position += gridDim.x) {
        const Tile tile(operands, position);
        for (int k_tile = 0; k_tile < operands.k_tiles; ++k_tile) {
          const std::int64_t from = static_cast<std::int64_t>(k_tile) * TILE_BYTES;
          copy(a_ring, a_count++, operands.a(tile.a) + from);
          for (int half = 0; half < tile.halves; ++half) {
            copy(b_ring, b_count++, operands.b(tile.b + half) + from);
          }
        }
      }
    }
    return;  // the consumers wait for every copy, and the block lasts as long as they do
  }

  setmaxnreg_inc<CONSUMER_REGISTERS>();
  unsigned a_count = 0;
  unsigned b_count = 0;
#pragma unroll 1
  for (int position = blockIdx.x; position < tile_count(operands); position += gridDim.x) {
    const Tile tile(operands, position);
    float sums[HALVES][64] = {};
#pragma unroll 1
    for (int k_tile = 0; k_tile < operands.k_tiles; ++k_tile) {
      mbarrier_wait(a_ring.full(a_count), Ring::parity(a_count));
      const std::uint64_t a =
          wgmma_descriptor(a_ring.slot(a_count) + threadIdx.x / WARPGROUP * (WGMMA_M * WGMMA_ROW_BYTES));
#pragma unroll
      for (int half = 0; half < HALVES; ++half) {
        if (half == tile.halves) {
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
          if (half + 1 == tile.halves) {
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
      store(p, tile.a, tile.b + half, sums[half]);
    }
  }
}

/// The number of SMs, or of tiles if there are fewer tiles.
std::int64_t blocks(const Problem& p) {
  int device = 0;
  int multiprocessors = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  return std::min<std::int64_t>(multiprocessors, tiles_of<BM, BN>(p));
}

const Registration registered =
    step("6_persistent", split_kernel, bf16x6_persistent_kernel, THREADS, SMEM_BYTES, blocks)
        .summary("sixth step: one persistent block per SM takes tiles in Hilbert order")
        .accuracy(AccuracyClass::bf16_split)
        .registration();

}  // namespace
}  // namespace sgemm
