#pragma once

// The main loop of INT8 products (sm_90a): three digits of 8 bits of each number, sums that stay exact in INT32, and
// one float of them at the end. Chapter 13 explains the same loop without what programs need beside it.

#include "common/problem.hpp"
#include "common/target.hpp"
#include "engine/int8_operands.cuh"
#include "engine/int8_product.cuh"
#include "engine/split_product.cuh"
#include "engine/split_schemes.cuh"
#include "engine/stream_k.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/wgmma.cuh"

#include <cstdint>

namespace sgemm {
inline namespace SGEMM_TARGET {
namespace split_product {
namespace int8 {

struct Int8x6Loop {
  using Scheme = Int8x6;  // three digits of 8 bits, rings of 2 slots

  /// The products that count, each by the numbers of its digits: i and j with i + j <= 2, as number 0 is the largest.
  __device__ static constexpr TermsOfProduct product(int i) {
    constexpr TermsOfProduct ORDER[Scheme::PRODUCTS] = {{2, 0}, {1, 1}, {0, 2}, {1, 0}, {0, 1}, {0, 0}};
    return ORDER[i];
  }

  /// Starts all products of 64 rows of a tile of A by a tile of B, which are added to `sums`: one sum for each
  /// power of 256, exact in INT32. Products of digits i and j go to sum i + j.
  __device__ __forceinline__ static void start_products(DigitSums& sums, unsigned a_tile, unsigned b_tile) {
    const std::uint64_t a = wgmma_descriptor(a_tile);
    const std::uint64_t b = wgmma_descriptor(b_tile);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < Scheme::PRODUCTS; ++i) {
      const TermsOfProduct digits = product(i);
#pragma unroll
      for (int k = 0; k < Scheme::BK / WGMMA_INTEGER_K; ++k) {
        wgmma_m64n128k32(sums[digits.a + digits.b],
                         wgmma_descriptor_at(a, digits.a * OperandTile<Scheme>::TERM_BYTES + k * WGMMA_INTEGER_K),
                         wgmma_descriptor_at(b, digits.b * OperandTile<Scheme>::TERM_BYTES + k * WGMMA_INTEGER_K),
                         true);
      }
    }
    wgmma_commit_group();
  }

  /// sums += A * B for one or more k-tiles of a tile of C. The last ones stay in their slots.
  __device__ __forceinline__ static void multiply(int k_tiles, Rings<Scheme>& rings, DigitSums& sums) {
    const unsigned rows_of_group = threadIdx.x / WARPGROUP * (WGMMA_M * WGMMA_ROW_BYTES);
#pragma unroll 1
    while (true) {
      rings.a.wait_until_full();
      rings.b.wait_until_full();
      start_products(sums, rings.a.tile() + rows_of_group, rings.b.tile());
      wgmma_wait_group<0>(sums);
      if (--k_tiles == 0) {
        return;
      }
      release(rings);  // nothing is left to add: the sums are there
    }
  }

  /// Gives a slot of each ring back, which tensor cores have read: producers may fill it again.
  __device__ __forceinline__ static void release(Rings<Scheme>& rings) {
    __syncwarp();
    if (threadIdx.x % WARP == 0) {
      mbarrier_arrive(rings.a.empty());
      mbarrier_arrive(rings.b.empty());
    }
    rings.a.advance();
    rings.b.advance();
  }

  /// The sums of a segment, a tile of C or, by stream-k, a part of one along k. Sums of many k are cut into pieces,
  /// whose totals add up in the workspace. Returns the place of that tile, which the operand tiles tell.
  __device__ __forceinline__ static TilePlace multiply_segment(const Schedule& schedule, const Segment& segment,
                                                               Rings<Scheme>& rings, float (&totals)[1][64]) {
    const PartialSumsOf<Shape> pieces(schedule, static_cast<int>(gridDim.x) + Work::share());
    TilePlace tile{};
#pragma unroll 1
    for (int done = 0; done < segment.count; done += MOST_K_TILES) {
      const int left = segment.count - done;
      DigitSums sums = {};
      multiply(left < MOST_K_TILES ? left : MOST_K_TILES, rings, sums);
      const Scaling& a = scaling_at(rings.a.scaling());
      const Scaling& b = scaling_at(rings.b.scaling());
      const LineCodes<64> codes(a.rows + first_row(threadIdx.x), b.rows + first_column(threadIdx.x));
      tile = {a.tile, b.tile};
      release(rings);
      add_up(sums, totals[0]);
      undo_scaling(codes, totals[0]);
      if (done > 0) {
        pieces.add_to(totals);
      }
      if (left > MOST_K_TILES) {
        pieces.put(totals);
      }
    }
    return tile;
  }

  /// A consumer warpgroup: it multiplies and stores segment after segment.
  template <class Policy>
  __device__ __forceinline__ static void consume(const typename Policy::Problem& p, const Schedule& schedule,
                                                 Rings<Scheme> rings) {
    Work work(schedule);
#pragma unroll 1
    while (!work.done(schedule)) {
      const Segment segment = work.next(schedule);
      float totals[1][64];
      const TilePlace tile = multiply_segment(schedule, segment, rings, totals);
      finish<Policy>(p, schedule, segment, tile, totals);
    }
  }
};

}  // namespace int8
}  // namespace split_product
}  // namespace SGEMM_TARGET
}  // namespace sgemm
