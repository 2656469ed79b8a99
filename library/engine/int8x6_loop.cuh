#pragma once

// The main loop of the reproducible class (sm_90a): three digits of 8 bits of each number, and sums that stay integers
// until all of k is there. Chapters 13 and 15 explain the same loop without what programs need beside it.

#include "common/problem.hpp"
#include "common/target.hpp"
#include "engine/int8_operands.cuh"
#include "engine/reproducible_tile.cuh"
#include "engine/split_configurations.cuh"
#include "engine/split_product.cuh"
#include "engine/stream_k.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/wgmma.cuh"

#include <cstdint>

namespace sgemm::SGEMM_TARGET::reproducible {

using split_product::scaling_at;
using split_product::int8::MOST_K_TILES;

struct Int8x6Loop {
  using Split = Int8x6;  // three digits of 8 bits, rings of 2 stages
  using Rings = split_product::Rings<Split>;
  using Tile = split_product::OperandTile<Split>;

  /// Starts the products that count of 64 rows of a tile of A by a tile of B, each by the numbers of its digits, of
  /// which 0 is the largest. They are added to `sums`, one for each power of 256 and exact in INT32: to sum i + j.
  __device__ __forceinline__ static void start_products(DigitSums& sums, unsigned a_tile, unsigned b_tile) {
    constexpr split_product::TermsOfProduct ORDER[Split::PRODUCTS] = {{2, 0}, {1, 1}, {0, 2}, {1, 0}, {0, 1}, {0, 0}};
    const std::uint64_t a = wgmma_descriptor(a_tile);
    const std::uint64_t b = wgmma_descriptor(b_tile);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < Split::PRODUCTS; ++i) {
#pragma unroll
      for (int k = 0; k < Split::BK / WGMMA_INTEGER_K; ++k) {
        wgmma_m64n128k32(sums[ORDER[i].a + ORDER[i].b],
                         wgmma_descriptor_at(a, ORDER[i].a * Tile::TERM_BYTES + k * WGMMA_INTEGER_K),
                         wgmma_descriptor_at(b, ORDER[i].b * Tile::TERM_BYTES + k * WGMMA_INTEGER_K), true);
      }
    }
    wgmma_commit_group();
  }

  /// sums += A * B for `k_tiles` k-tiles of a tile of C. Returns the place of that tile, which the operand tiles tell.
  __device__ __forceinline__ static TilePlace multiply(int k_tiles, Rings& rings, DigitSums& sums) {
    const unsigned rows_of_group = threadIdx.x / WARPGROUP * (WGMMA_M * WGMMA_ROW_BYTES);
    TilePlace tile{};
#pragma unroll 1
    for (; k_tiles > 0; --k_tiles) {
      rings.a.wait_until_full();
      rings.b.wait_until_full();
      start_products(sums, rings.a.tile() + rows_of_group, rings.b.tile());
      tile = {scaling_at(rings.a.scaling()).tile, scaling_at(rings.b.scaling()).tile};
      wgmma_wait_group<0>(sums);

      // Tensor cores have read the stages, which producers may fill again.
      mbarrier_arrive_as_warp(rings.a.empty(), rings.b.empty());
      rings.a.advance();
      rings.b.advance();
    }
    return tile;
  }

  /// The exact sums of a segment, a tile of C or, by stream-k, a part of one along k. INT32 has room for MOST_K_TILES.
  /// Sums of more are cut into pieces, which add up in the workspace. Returns the codes of the tile.
  __device__ __forceinline__ static CodesOfWarp multiply_segment(const Workspace& workspace, const Schedule& schedule,
                                                                 const Segment& segment, Rings& rings, Sums& sums) {
    const Partial pieces(schedule, static_cast<int>(gridDim.x) + Work::share());
    CodesOfWarp codes;
#pragma unroll 1
    for (int done = 0; done < segment.count; done += MOST_K_TILES) {
      const int left = segment.count - done;
      DigitSums digits = {};
      codes = CodesOfWarp(workspace, multiply(left < MOST_K_TILES ? left : MOST_K_TILES, rings, digits));
      add_up(digits, sums);
      if (done > 0) {
        pieces.add_to(sums);
      }
      if (left > MOST_K_TILES) {
        pieces.put(sums);
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
      if (split_product::collect<Partial>(schedule, segment, sums)) {
        Policy::store(p, workspace, codes, sums);
      }
    }
  }
};

}  // namespace sgemm::SGEMM_TARGET::reproducible
