// Chapter 11, third step: one warp copies, eight warps multiply, and no barrier of the block lies between them
//
// Against 2_bulk_copy: a ninth warp copies and does nothing else. As in 08 each slot of the ring has two mbarriers:
// `full` ends a phase when the bytes are there, `empty` when all eight multiplying warps are done with them. The two
// warpgroups do not wait for each other any more: while one adds, the tensor cores compute the products of the other.
//
//   w8      empty? copy 0   empty? copy 1   empty? copy 2 ...
//   w0-w3   full? | products | add | full? | products | add | ...
//   w4-w7      full? | products | add | full? | products | add | ...
//
// Limit: power, of which copies take a part.

#include "common/ceil_div.hpp"
#include "common/hilbert.hpp"
#include "common/problem.hpp"
#include "common/wgmma_store.cuh"
#include "host/chapter.cuh"
#include "ptx/cp_async_bulk.cuh"
#include "ptx/cvt.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/shared_memory.cuh"
#include "ptx/wgmma.cuh"

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace sgemm {
namespace {

constexpr int WARP = 32;
constexpr int BK = 64;          // elements along k in a row of 128 bytes
constexpr int TILE_ROWS = 128;  // rows of A or columns of B in an operand tile
constexpr int TERMS = 3;        // BF16 numbers whose sum is a float
constexpr int TERM_BYTES = TILE_ROWS * WGMMA_ROW_BYTES;
constexpr int TILE_BYTES = TERMS * TERM_BYTES;
constexpr int SPLIT_THREADS = 256;
constexpr int CONSUMERS = 2 * WARPGROUP;
constexpr int THREADS = CONSUMERS + WARP;
constexpr int SLOTS = 2;
constexpr int SLOT_BYTES = 2 * TILE_BYTES;  // A, then B
constexpr int RING_BYTES = SLOTS * SLOT_BYTES;
constexpr int SMEM_BYTES = RING_BYTES + 2 * SLOTS * MBARRIER_BYTES;

/// All operand tiles in global memory. Those of the same rows of A, or columns of B, follow one another along k.
struct Operands {
  int k_tiles;  ///< at least one; it holds zeros if K is 0
  int a_tiles;  ///< tiles of A side by side along M
  int b_tiles;  ///< tiles of B side by side along N
  unsigned char* memory;

  static Operands of(const Problem& p, void* memory) {
    const auto tiles = [](std::int64_t size, int of) { return static_cast<int>(ceil_div<std::int64_t>(size, of)); };
    auto* const bytes = static_cast<unsigned char*>(memory);
    return {p.k == 0 ? 1 : tiles(p.k, BK), tiles(p.m, TILE_ROWS), tiles(p.n, TILE_ROWS), bytes};
  }
  std::size_t count() const { return (static_cast<std::size_t>(a_tiles) + b_tiles) * k_tiles; }
  __device__ unsigned char* tile(int i, int k) const { return memory + (std::int64_t{i} * k_tiles + k) * TILE_BYTES; }
};

/// Splits a tile of A or B in each block. Columns of B become rows, and elements outside the matrices zeros.
__global__ void __launch_bounds__(SPLIT_THREADS) bf16x6_producer_warp_split_kernel(Problem p, Operands operands) {
  __shared__ float x[TILE_ROWS][BK + 1];  // padded by a bank, as B's columns are stored here
  const int thread = static_cast<int>(threadIdx.x);
  const int row_tile = static_cast<int>(blockIdx.x) / operands.k_tiles;
  const int k_tile = static_cast<int>(blockIdx.x) % operands.k_tiles;
  const std::int64_t first_k = std::int64_t{k_tile} * BK;
  const bool of_a = row_tile < operands.a_tiles;
  const std::int64_t first_row = std::int64_t{of_a ? row_tile : row_tile - operands.a_tiles} * TILE_ROWS;

  // Neighbouring threads read neighbours: along k in A, along columns in B.
  int row = of_a ? thread / BK : thread % TILE_ROWS;
  int k = of_a ? thread % BK : thread / TILE_ROWS;
  const float* source =
      of_a ? p.a + (first_row + row) * p.lda + first_k + k : p.b + (first_k + k) * p.ldb + first_row + row;
  const std::int64_t step = of_a ? SPLIT_THREADS / BK * p.lda : SPLIT_THREADS / TILE_ROWS * p.ldb;
#pragma unroll 16
  for (int i = 0; i < TILE_ROWS * BK / SPLIT_THREADS; ++i) {
    const float value = first_row + row < (of_a ? p.m : p.n) && first_k + k < p.k ? *source : 0.0F;
    // The third term of a smaller number could be denormal and lose bits.
    x[row][k] = value == 0.0F || std::fabs(value) >= 0x1p-100F ? value : NAN;
    source += step;
    row += of_a ? SPLIT_THREADS / BK : 0;
    k += of_a ? 0 : SPLIT_THREADS / TILE_ROWS;
  }
  __syncthreads();

  // Eight neighbouring threads have a row. Eight elements along k make 16 bytes of each term.
  k = thread % 8 * 8;
#pragma unroll
  for (int first = 0; first < TILE_ROWS; first += SPLIT_THREADS / 8) {
    row = first + thread / 8;
    unsigned terms[TERMS][4];
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
      float2 rest{x[row][k + i], x[row][k + i + 1]};
#pragma unroll
      for (int term = 0; term < TERMS; ++term) {  // the rest that the terms before it leave, rounded
        terms[term][i / 2] = Bf16::pack(rest.x, rest.y);
        const float2 rounded = Bf16::unpack(terms[term][i / 2]);
        rest = {rest.x - rounded.x, rest.y - rounded.y};
      }
    }
#pragma unroll
    for (int term = 0; term < TERMS; ++term) {
      unsigned char* const to = operands.tile(row_tile, k_tile) + term * TERM_BYTES;
      const uint4 group{terms[term][0], terms[term][1], terms[term][2], terms[term][3]};
      *reinterpret_cast<uint4*>(to + swizzled(row * WGMMA_ROW_BYTES + k * 2)) = group;
    }
  }
}

__global__ void __launch_bounds__(THREADS, 1) bf16x6_producer_warp_kernel(Problem p, Operands operands) {
  const TileIndex tile = hilbert_tile(blockIdx.x, operands.a_tiles, operands.b_tiles);
  const unsigned ring = shared_address(dynamic_smem());
  const unsigned first_full = ring + RING_BYTES;  // a slot's mbarriers
  const unsigned first_empty = first_full + SLOTS * MBARRIER_BYTES;
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < SLOTS; ++slot) {
      mbarrier_init(first_full + slot * MBARRIER_BYTES, 1);
      mbarrier_init(first_empty + slot * MBARRIER_BYTES, CONSUMERS / WARP);
    }
    fence_mbarrier_init();
  }
  __syncthreads();

  if (threadIdx.x >= CONSUMERS) {
    for (int k_tile = 0; threadIdx.x == CONSUMERS && k_tile < operands.k_tiles; ++k_tile) {
      const unsigned slot = ring + k_tile % SLOTS * SLOT_BYTES;
      const unsigned full = first_full + k_tile % SLOTS * MBARRIER_BYTES;
      mbarrier_wait(first_empty + k_tile % SLOTS * MBARRIER_BYTES, k_tile / SLOTS % 2 ^ 1);
      mbarrier_arrive_expect_tx(full, SLOT_BYTES);
      cp_async_bulk(slot, operands.tile(tile.row, k_tile), TILE_BYTES, full);
      cp_async_bulk(slot + TILE_BYTES, operands.tile(operands.a_tiles + tile.col, k_tile), TILE_BYTES, full);
    }
    return;  // the consumers wait for every copy, and the block lasts as long as they do
  }

  float sums[64] = {};
#pragma unroll 1
  for (int k_tile = 0; k_tile < operands.k_tiles; ++k_tile) {
    mbarrier_wait(first_full + k_tile % SLOTS * MBARRIER_BYTES, k_tile / SLOTS % 2);
    const unsigned slot = ring + k_tile % SLOTS * SLOT_BYTES;
    const std::uint64_t a = wgmma_descriptor(slot + threadIdx.x / WARPGROUP * (WGMMA_M * WGMMA_ROW_BYTES));
    const std::uint64_t b = wgmma_descriptor(slot + TILE_BYTES);
    // Products of terms, the smallest first: tensor cores cut off less while a sum is small.
    constexpr int TERM_OF_A[] = {2, 0, 1, 1, 0, 0};
    constexpr int TERM_OF_B[] = {0, 2, 1, 0, 1, 0};
    float products[64];
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < 6; ++i) {
#pragma unroll
      for (int k = 0; k < WGMMA_ROW_BYTES; k += 32) {  // bytes of 16 elements
        wgmma_m64n128k16<Bf16>(products, wgmma_descriptor_at(a, TERM_OF_A[i] * TERM_BYTES + k),
                               wgmma_descriptor_at(b, TERM_OF_B[i] * TERM_BYTES + k), i + k > 0);
      }
    }
    wgmma_commit_group();
    wgmma_wait_group<0>(products);
    __syncwarp();
    if (threadIdx.x % WARP == 0) {
      mbarrier_arrive(first_empty + k_tile % SLOTS * MBARRIER_BYTES);
    }
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      sums[i] += products[i];
    }
  }
  store_or_recompute(p, std::int64_t{tile.row} * TILE_ROWS, std::int64_t{tile.col} * TILE_ROWS, sums);
}

const Registration registered =
    Chapter(11, "bf16x6")
        .variant("3_producer_warp")
        .summary("third step: one warp copies, two warpgroups multiply, mbarriers synchronise them")
        .source("Henry et al.; Ootomo and Yokota")
        .needs_code_for_sm_90a()
        .accuracy(AccuracyClass::bf16_split)
        .configuration([](const Problem& problem) {
          const auto run = [](const Problem& p, void* workspace, cudaStream_t stream) {
            const Operands operands = Operands::of(p, workspace);
            launch(bf16x6_producer_warp_split_kernel, operands.count(), dim3(SPLIT_THREADS), 0, stream, p, operands);
            launch(bf16x6_producer_warp_kernel, operands.a_tiles * operands.b_tiles, dim3(THREADS), SMEM_BYTES, stream,
                   p, operands);
          };
          return Configuration{"", Operands::of(problem, nullptr).count() * TILE_BYTES, run};
        })
        .blocks_per_sm(1)
        .resources([] { return resources_of(bf16x6_producer_warp_kernel, THREADS, SMEM_BYTES); })
        .registration();

}  // namespace
}  // namespace sgemm
