// Chapter 11, first step: wgmma, tensor cores that read their operands from shared memory
//
// Against 10: there each warp loads fragments, splits them and multiplies them by mma.sync, and every warp that needs a
// fragment splits it. wgmma reads tiles of A and B from shared memory by itself. They have to lie there as terms, so
// another kernel first splits each number into three BF16 terms and writes tiles in the order of shared memory.
//
//   x   |s|exponent|            23 mantissa bits             |     a b = a1 b1 + a1 b2 + a2 b1
//   x1  |s|exponent| 7, rounded|                                       + a2 b2 + a1 b3 + a3 b1
//   x2              |s|exponent| 7, rounded|                         + what is left out, some 2^-25 of it
//   x3                          |s|exponent| 7, rounded|
//
//   block 128 x 128, 8 warps            a k-tile in shared memory: 96 KB, two of them
//   +---------------------+             A  term 1, 128 rows, BK = 64      16 KB, swizzled
//   |       w0-w3         | 64 rows        term 2, the same
//   +---------------------+                term 3
//   |       w4-w7         | 64 rows     B  term 1, 128 columns, BK = 64   16 KB, swizzled
//   +---------------------+                ...
//   loop       wait for the k-tile; start its products, six pairs of terms by four steps of 16 elements along k; copy
//              the next k-tile meanwhile (cp.async, 24 copies of 16 bytes a thread); wait for the products.
//   promotion  tensor cores cut off the last bits of their sums, so that a long sum drifts towards 0. Each k-tile's sum
//              starts at 0 in the tensor cores, and FADDs add it to the sum over all k, as in 10.
//
// Traffic per element of C: k / 128 numbers of A and of B from global memory, 6 bytes each.
// Limit: the tensor cores wait for a barrier, for copies and for 64 FADDs a thread between two k-tiles.

#include "common/bf16_terms.cuh"
#include "common/hilbert.hpp"
#include "common/problem.hpp"
#include "common/store_accumulators.cuh"
#include "host/launch.cuh"
#include "ptx/bar.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/shared_memory.cuh"
#include "ptx/wgmma.cuh"

#include <cstdint>

namespace sgemm {
namespace {

using namespace bf16_terms;

constexpr int THREADS = 2 * WARPGROUP;
constexpr int STAGES = 2;
constexpr int STAGE_BYTES = 2 * TILE_BYTES;  // A, then B
constexpr int SMEM_BYTES = STAGES * STAGE_BYTES;

__global__ void __launch_bounds__(SPLIT_THREADS) bf16x6_promoted_split_kernel(Problem p, Operands operands) {
  split_tile(p, operands);
}

__global__ void __launch_bounds__(THREADS, 1) bf16x6_promoted_kernel(Problem p, Operands operands) {
  const TileIndex tile = hilbert_tile(blockIdx.x, operands.a_tiles, operands.b_tiles);
  const unsigned ring = shared_address(dynamic_smem());
  const auto copy = [&](int k_tile) {
    const unsigned stage = ring + k_tile % STAGES * STAGE_BYTES + threadIdx.x * 16;
    const unsigned char* const a = operands.tile(tile.row, k_tile) + threadIdx.x * 16;
    const unsigned char* const b = operands.tile(operands.a_tiles + tile.col, k_tile) + threadIdx.x * 16;
#pragma unroll
    for (int i = 0; i < TILE_BYTES; i += THREADS * 16) {
      cp_async<16>(stage + i, a + i);
      cp_async<16>(stage + TILE_BYTES + i, b + i);
    }
    cp_async_commit_group();
  };

  float sums[64] = {};
  copy(0);
#pragma unroll 1
  for (int k_tile = 0; k_tile < operands.k_tiles; ++k_tile) {
    cp_async_wait_group<0>();
    fence_proxy_async();
    __syncthreads();  // all copies are there, and all products of the other stage are done
    const unsigned stage = ring + k_tile % STAGES * STAGE_BYTES;
    const std::uint64_t a = wgmma_descriptor(stage + threadIdx.x / WARPGROUP * (WGMMA_M * WGMMA_ROW_BYTES));
    const std::uint64_t b = wgmma_descriptor(stage + TILE_BYTES);
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
    if (k_tile + 1 < operands.k_tiles) {
      copy(k_tile + 1);
    }
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
  launch(bf16x6_promoted_split_kernel, operands.count(), dim3(SPLIT_THREADS), 0, stream, p, operands);
  launch(bf16x6_promoted_kernel, operands.a_tiles * operands.b_tiles, dim3(THREADS), SMEM_BYTES, stream, p, operands);
}

Configuration configuration(const Problem& p) { return {"", Operands::of(p, nullptr).bytes(), launch_both}; }

const Registration registered =
    Chapter(11, "bf16x6", "Henry et al.; Ootomo and Yokota")
        .variant("1_promoted")
        .summary("first step: wgmma multiplies terms from shared memory, FP32 units add the sums of k-tiles")
        .needs_code_for_sm_90a()
        .accuracy(AccuracyClass::bf16_split)
        .block(bf16x6_promoted_kernel, THREADS, SMEM_BYTES, 1)
        .configuration(configuration);

}  // namespace
}  // namespace sgemm
