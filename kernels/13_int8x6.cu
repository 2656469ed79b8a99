// Chapter 13: each FP32 product becomes six INT8 products on Hopper's tensor cores
//
// Against 12: tensor cores multiply integers of 8 bits twice as fast as numbers of 16 bits, and add them up exactly. A
// float becomes an integer of 23 bits by one power of two for its whole line, a row of A or a column of B, and the
// integer three signed digits to the base 256:
//
//   x 2^e = d1 2^16 + d2 2^8 + d3, rounded        a b 2^(e + f) = 2^32 (d1 d1)
//   digits from -128 to 127                                     + 2^24 (d1 d2 + d2 d1)
//                                                               + 2^16 (d1 d3 + d2 d2 + d3 d1) + what is left out
//
//   split      A block looks for the largest number of each of eight lines, and then writes digits, tile by tile:
//
//                128 lines by 128 k   | d1 | d2 | d3 | codes of scales |    48 KB and 144 bytes, for one bulk copy
//
//   multiply   A persistent block has 128 x 128 of C at a time, and two stages. Two warpgroups multiply, 64 rows each:
//
//                stage 0 | A | B |   24 wgmma of 64 x 128 x 32       sums[0] += d1 d1
//                stage 1 | A | B |   for each stage and warpgroup    sums[1] += d1 d2 + d2 d1
//                                                                    sums[2] += d1 d3 + d2 d2 + d3 d1
//
//   sums       stay in registers over all k: 192 of a thread's. Nothing is rounded, and no FP32 unit adds. The three
//              become one float at the end. INT32 has room for 43648 k; longer products are made piece by piece.
//
// One scale for a line means that numbers far below its largest one lose digits: the error of an element is small
// beside K times the largest number of its row of A times that of its column of B, and need not be small beside the
// element. Elements in lines with Inf, NaN, numbers near FLT_MAX or denormal numbers alone take no tensor cores.
//
// Traffic per element of C: k / 128 numbers of A and of B from global memory, three digits of a byte each.
// Limit: tensor cores, six products at twice the rate of 12's three.

#include "common/int8_tiles.cuh"
#include "common/problem.hpp"
#include "common/split_lines.cuh"
#include "common/store_accumulators.cuh"
#include "host/launch.cuh"
#include "ptx/cp_async_bulk.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/shared_memory.cuh"
#include "ptx/wgmma.cuh"

#include <algorithm>
#include <cstdint>

namespace sgemm {
namespace {

using namespace int8_tiles;

/// A block for each eight lines.
__global__ void __launch_bounds__(SPLIT_THREADS, 1) int8x6_split_kernel(Problem p, Operands operands) {
  split_into_tiles(p, operands);
}

__global__ void __launch_bounds__(THREADS, 1) int8x6_kernel(Problem p, Operands operands) {
  const unsigned smem = shared_address(dynamic_smem());
  Ring::init(smem, CONSUMERS / WARP, 1);
  fence_mbarrier_init();
  __syncthreads();
  const auto thread = static_cast<int>(threadIdx.x);
  if (thread >= CONSUMERS) {
    setmaxnreg_dec<PRODUCER_REGISTERS>();
    if (thread == CONSUMERS) {
      produce(operands, Ring(smem));
    }
    return;  // the consumers wait for every copy, and the block lasts as long as they do
  }

  setmaxnreg_inc<CONSUMER_REGISTERS>();
  Ring stage(smem);
  const unsigned rows_of_group = thread / WARPGROUP * (WGMMA_M * WGMMA_ROW_BYTES);
  const int row = thread / WARP * 16 + thread % WARP / 4;  // of the thread's first element in a tile of C
  const int col = thread % 4 * 2;
#pragma unroll 1
  for (int i = blockIdx.x; i < operands.a_tiles * operands.b_tiles; i += gridDim.x) {
    int sums[3][64] = {};
#pragma unroll 1
    for (int left = operands.k_tiles;; stage.release()) {
      stage.wait_until_full();
      start_products(sums, stage.data() + rows_of_group, stage.data() + B_AT);
      wgmma_wait_group<0>(sums);
      if (--left == 0) {
        break;
      }
    }
    // The last stage is kept until its scales have been read.
    const Scales& of_a = scales_behind(stage.data());
    const Scales& of_b = scales_behind(stage.data() + B_AT);
    const std::int64_t to_row = std::int64_t{of_a.tile} * TILE + row;
    const std::int64_t to_col = std::int64_t{of_b.tile} * TILE + col;
    float totals[64];
    add_up(sums, totals);
    undo_scaling(of_a.codes + row, of_b.codes + col, totals);
    stage.release();
    store_or_recompute(p, to_row, to_col, totals);
  }
}

// ---- The launch ----

/// Longer sums are sums of pieces, which C adds up.
constexpr std::int64_t MOST_K = std::int64_t{MOST_K_TILES} * BK;

void launch_pieces(Problem p, void* memory, cudaStream_t stream) {
  std::int64_t left = p.k;
  do {
    p.k = std::min(left, MOST_K);
    const Operands operands = Operands::of(p, memory);
    launch(int8x6_split_kernel, (operands.a_tiles + operands.b_tiles) * SPLIT_BLOCKS, dim3(SPLIT_THREADS),
           operands.k_tiles > SPLIT_CHUNK<Int8Digits> ? KEPT_BYTES : 0, stream, p, operands);
    launch_dependent(int8x6_kernel, persistent_blocks(operands.a_tiles * operands.b_tiles), dim3(THREADS), Ring::BYTES,
                     stream, p, operands);
    left -= p.k;
    p.a += p.k;
    p.b += p.k * p.ldb;
    p.beta = 1.0F;
  } while (left > 0);
}

Configuration configuration(Problem p) {
  p.k = std::min(p.k, MOST_K);
  return {"", Operands::of(p, nullptr).bytes(), launch_pieces};
}

const Registration registered =
    Chapter(13, "int8x6", "Ootomo, Ozaki and Yokota")
        .summary("six INT8 products by wgmma for each FP32 product, exact sums of three digits with one scale per row")
        .needs_code_for_sm_90a()
        .accuracy(AccuracyClass::int8_split)
        .block(int8x6_kernel, THREADS, Ring::BYTES, 1)
        .configuration(configuration);

}  // namespace
}  // namespace sgemm
