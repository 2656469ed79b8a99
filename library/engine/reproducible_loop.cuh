#pragma once

// The main loop of the reproducible class (sm_90a): that of int8x6_loop.cuh with sums that stay integers until all of k
// is there. Chapter 15 explains the same loop without what programs need beside it.

#include "common/problem.hpp"
#include "common/target.hpp"
#include "engine/int8_operands.cuh"
#include "engine/int8_product.cuh"
#include "engine/reproducible.cuh"
#include "engine/reproducible_tile.cuh"
#include "engine/split_product.cuh"
#include "engine/split_schemes.cuh"
#include "engine/stream_k.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/wgmma.cuh"

#include <cstdint>

namespace sgemm {
inline namespace SGEMM_TARGET {
namespace reproducible {

struct Loop {
  using Scheme = Int8x6;
  using Rings = split_product::Rings<Scheme>;

  /// Starts the six products of digits of 64 rows of a tile of A by a tile of B, as 13 does. Those of digits i and j
  /// are added to sum i + j.
  __device__ __forceinline__ static void start_products(DigitSums& sums, unsigned a_tile, unsigned b_tile) {
    constexpr split_product::TermsOfProduct ORDER[Scheme::PRODUCTS] = {{2, 0}, {1, 1}, {0, 2}, {1, 0}, {0, 1}, {0, 0}};
    constexpr int DIGIT_BYTES = split_product::OperandTile<Scheme>::TERM_BYTES;
    const std::uint64_t a = wgmma_descriptor(a_tile);
    const std::uint64_t b = wgmma_descriptor(b_tile);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < Scheme::PRODUCTS; ++i) {
#pragma unroll
      for (int k = 0; k < Scheme::BK / WGMMA_INTEGER_K; ++k) {
        wgmma_m64n128k32(sums[ORDER[i].a + ORDER[i].b],
                         wgmma_descriptor_at(a, ORDER[i].a * DIGIT_BYTES + k * WGMMA_INTEGER_K),
                         wgmma_descriptor_at(b, ORDER[i].b * DIGIT_BYTES + k * WGMMA_INTEGER_K), true);
      }
    }
    wgmma_commit_group();
  }

  /// digits += A * B for `k_tiles` k-tiles of a tile of C. Returns the place of that tile, which the operand tiles
  /// tell.
  __device__ __forceinline__ static TilePlace multiply(int k_tiles, Rings& rings, DigitSums& digits) {
    const unsigned rows_of_group = threadIdx.x / WARPGROUP * (WGMMA_M * WGMMA_ROW_BYTES);
    TilePlace tile{};
#pragma unroll 1
    for (; k_tiles > 0; --k_tiles) {
      rings.a.wait_until_full();
      rings.b.wait_until_full();
      start_products(digits, rings.a.tile() + rows_of_group, rings.b.tile());
      tile = {split_product::scaling_at(rings.a.scaling()).tile, split_product::scaling_at(rings.b.scaling()).tile};
      wgmma_wait_group<0>(digits);

      // Tensor cores have read the slots, which producers may fill again.
      __syncwarp();
      if (threadIdx.x % split_product::WARP == 0) {
        mbarrier_arrive(rings.a.empty());
        mbarrier_arrive(rings.b.empty());
      }
      rings.a.advance();
      rings.b.advance();
    }
    return tile;
  }

  /// The exact sums of a segment, a tile of C or, by stream-k, a part of one along k. INT32 has room for MOST_K_TILES.
  /// Sums of more are cut into pieces, which add up in the workspace. Returns the codes of the tile.
  __device__ __forceinline__ static CodesOfWarp multiply_segment(const Workspace& workspace, const Schedule& schedule,
                                                                 const Segment& segment, Rings& rings, Sums& sums) {
    constexpr int MOST_K_TILES = split_product::int8::MOST_K_TILES;
    const Partial pieces(schedule, static_cast<int>(gridDim.x) + Work::share());
    CodesOfWarp codes;
#pragma unroll 1
    for (int done = 0; done < segment.count; done += MOST_K_TILES) {
      const int left = segment.count - done;
      DigitSums digits = {};
      codes = CodesOfWarp(workspace, multiply(left < MOST_K_TILES ? left : MOST_K_TILES, rings, digits));
      add_up(digits, sums);
      if (done > 0) {
        add_part(sums, pieces);
      }
      if (left > MOST_K_TILES) {
        put_part(sums, pieces);
      }
    }
    return codes;
  }

  /// A consumer warpgroup: it multiplies segment after segment, and stores a tile when all of its parts are there.
  template <class Policy>
  __device__ __forceinline__ static void consume(const typename Policy::Problem& p, const Workspace& workspace,
                                                 const Schedule& schedule, Rings rings) {
    Work work(schedule);
#pragma unroll 1
    while (!work.done(schedule)) {
      const Segment segment = work.next(schedule);
      Sums sums;
      const CodesOfWarp codes = multiply_segment(workspace, schedule, segment, rings, sums);
      if (collect(schedule, segment, sums)) {
        Policy::store(p, workspace, codes, sums);
      }
    }
  }
};

}  // namespace reproducible
}  // namespace SGEMM_TARGET
}  // namespace sgemm
