// Chapter 08: warps that only copy, and FMAs that alternate between register banks
//
// Against 07: copying moves into four warps of its own. What multiplies is left with little else than FMAs and the
// loads of their operands, and the order of those FMAs is chosen so that the register file keeps up with them.
//
//   warps      8 multiply, 64 x 64 elements of C each, 16 x 8 per thread
//              4 copy (cp.async), with fewer registers per thread; the others get what they leave over (setmaxnreg)
//   ring       four stages of 32 k. Two mbarriers per stage: `full` says that the copies have arrived, `empty` that all
//              eight warps have read it. Copiers run ahead as far as stages are empty; nobody waits for the whole
//              block.
//
//   rows of A  |0 1 2 3|4 5 6 7|8 9 10 11|12 13 14 15|      a thread's sums: 16 rows of 8 registers, each row in two
//   columns    |0 1 2 3|4 5 6 7|                            aligned groups of four: column j is in bank j % 2
//
//   order      two FMAs in a row that write to one bank cost a cycle, and so do three operands read from one bank.
//              Along a row the banks alternate. From row to row they do where a row starts in the bank that the last
//              one did not end in; three operands never share a bank where it starts in the bank that its element of A
//              is not in. Both go together as long as rows of one parity follow each other: 0 2 | 1 3 5 7 | 4 6 8 10 |
//              9 11 13 15 | 12 14.
//
// Traffic per element of C: k / 256 loads of A and k / 128 of B from global memory; k / 8 of A and k / 16 of B from
// shared memory.
// Limit: issue slots; and whole waves of tiles: what is left of C after the last full one occupies few SMs.
//
// Variants: `serpentine` has the FMAs in the order of 07; `tile256x192` computes 16 x 12 per thread, so that 7 LDS.128
// feed 192 FMAs instead of 6 for 128, in tiles that suit large matrices alone.
// Where rows of B or C do not split into aligned groups of four, B is copied and C stored float by float.

#include "common/keep_in_register.cuh"
#include "common/problem.hpp"
#include "common/tiling.cuh"
#include "common/vector_access.cuh"
#include "engine/warp_specialized.cuh"
#include "host/chapter.cuh"
#include "host/launch.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/shared_memory.cuh"

namespace sgemm {
namespace {

using namespace warp_specialized;

/// VECTOR: rows of B and C split into aligned groups of four.
template <class Shape, bool VECTOR, FmaOrder ORDER>
__global__ void __launch_bounds__(Shape::THREADS, 1) warp_specialized_kernel(Problem p) {
  const unsigned ring = shared_address(dynamic_smem());
  init_ring<Shape>(ring);
  __syncthreads();

  if (threadIdx.x >= Shape::MATH_THREADS) {
    setmaxnreg_dec<Shape::COPY_REGISTERS>();
    Copier<Shape, VECTOR>(ring).copy(p, tile_at<Shape>(p, static_cast<int>(blockIdx.x)), 0, stages_of<Shape>(p));
    return;  // the multiplying warps wait for every stage, and the block lasts as long as they do
  }
  setmaxnreg_inc<Shape::MATH_REGISTERS>();
  float sums[TM][Shape::TN] = {};
  Multiplier<Shape, ORDER>(ring).multiply(stages_of<Shape>(p), sums);
  const TileOrigin tile = tile_at<Shape>(p, static_cast<int>(blockIdx.x));
  const unsigned thread = keep_in_register(threadIdx.x);  // computed again rather than kept through the loop
  const std::int64_t row = tile.row + row_in_tile<Shape>(thread);
  const std::int64_t col = tile.col + column_in_tile<Shape>(thread);
  // Sums that are stored as they are make the compiler keep groups of four in neighbouring registers, the first of them
  // even, from the start: the order of the FMAs relies on it.
  if (VECTOR && p.alpha == 1.0F && p.beta == 0.0F) {
    store<Shape, VECTOR, true>(p, row, col, 0, sums);
  } else {
    store<Shape, VECTOR, false>(p, row, col, 0, sums);
  }
}

template <class Shape, FmaOrder ORDER>
Chapter chapter() {
  return Chapter(8, "warp_specialized")
      .source("CUTLASS, warp specialization; the order of the FMAs is our own")
      .min_compute_capability(90)
      .launcher([](const Problem& p, cudaStream_t stream) {
        const bool vector_access = rows_split_into_float4(p.b, p.n, p.ldb) && rows_split_into_float4(p.c, p.n, p.ldc);
        launch(
            vector_access ? warp_specialized_kernel<Shape, true, ORDER> : warp_specialized_kernel<Shape, false, ORDER>,
            tiles_of<Shape::BM, Shape::BN>(p), dim3(Shape::THREADS), Shape::SMEM_BYTES, stream, p);
      })
      .blocks_per_sm(1)
      .resources(
          [] { return resources_of(warp_specialized_kernel<Shape, true, ORDER>, Shape::THREADS, Shape::SMEM_BYTES); });
}

using Tile128x256 = TileShape<2, 4, 8, 4, 16, 72>;
using Tile256x192 = TileShape<4, 2, 12, 3, 8, 24>;

const Registration tile128x256 =
    chapter<Tile128x256, FmaOrder::alternating_banks>()
        .summary(
            "128x256 tiles, 16x8 per thread, four warps that only copy, FMAs that alternate between register banks")
        .registration();
const Registration serpentine = chapter<Tile128x256, FmaOrder::serpentine>()
                                    .variant("serpentine")
                                    .summary("the same with the FMAs in serpentine order")
                                    .registration();
const Registration tile256x192 = chapter<Tile256x192, FmaOrder::alternating_banks>()
                                     .variant("tile256x192")
                                     .summary("the same with 256x192 tiles, 16x12 per thread")
                                     .registration();

}  // namespace
}  // namespace sgemm
