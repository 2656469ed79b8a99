#pragma once

// The main loop of INT8 products (sm_90a): three digits of 8 bits of each number, and sums that stay exact in INT32.
// Chapter 13 makes one float of them at the end, and chapter 15 one integer. Both explain the same loop without what
// programs need beside it.

#include "common/problem.hpp"
#include "common/target.hpp"
#include "engine/int8_operands.cuh"
#include "engine/int8_product.cuh"
#include "engine/reproducible_tile.cuh"
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
  /// whose totals add up in the workspace. Returns what the ending has read of that tile.
  template <class Ending>
  __device__ __forceinline__ static typename Ending::Place multiply_segment(const Schedule& schedule,
                                                                            const Segment& segment,
                                                                            Rings<Scheme>& rings, const Ending& ending,
                                                                            typename Ending::Sums& totals) {
    const typename Ending::Partial pieces(schedule, static_cast<int>(gridDim.x) + Work::share());
    typename Ending::Place place{};
#pragma unroll 1
    for (int done = 0; done < segment.count; done += MOST_K_TILES) {
      const int left = segment.count - done;
      DigitSums sums = {};
      multiply(left < MOST_K_TILES ? left : MOST_K_TILES, rings, sums);
      place = ending.add_up(sums, rings, totals);
      if (done > 0) {
        pieces.add_to(totals);
      }
      if (left > MOST_K_TILES) {
        pieces.put(totals);
      }
    }
    return place;
  }

  /// A consumer warpgroup: it multiplies and ends segment after segment. The ending tells what becomes of the sums of
  /// powers of 256, of type Sums, in pieces of type Partial.
  template <class Policy, class Ending>
  __device__ __forceinline__ static void consume(const typename Policy::Problem& p, const Schedule& schedule,
                                                 Rings<Scheme> rings, const Ending& ending) {
    Work work(schedule);
#pragma unroll 1
    while (!work.done(schedule)) {
      const Segment segment = work.next(schedule);
      typename Ending::Sums totals;
      const typename Ending::Place place = multiply_segment(schedule, segment, rings, ending, totals);
      ending.template finish<Policy>(p, schedule, segment, place, totals);
    }
  }
};

/// Of chapter 13: one float for each sum of a tile, whose scaling the operand tiles tell.
struct FloatEnding {
  using Sums = float[1][64];
  using Partial = PartialSumsOf<Shape>;
  using Place = TilePlace;

  __device__ __forceinline__ static TilePlace add_up(const DigitSums& sums, Rings<Int8x6>& rings, Sums& totals) {
    const Scaling& a = scaling_at(rings.a.scaling());
    const Scaling& b = scaling_at(rings.b.scaling());
    const LineCodes<64> codes(a.rows + first_row(threadIdx.x), b.rows + first_column(threadIdx.x));
    const TilePlace tile{a.tile, b.tile};
    Int8x6Loop::release(rings);
    int8::add_up(sums, totals[0]);
    undo_scaling(codes, totals[0]);
    return tile;
  }

  template <class Policy>
  __device__ __forceinline__ static void finish(const typename Policy::Problem& p, const Schedule& schedule,
                                                const Segment& segment, const TilePlace& tile, Sums& totals) {
    split_product::finish<Policy>(p, schedule, segment, tile, totals);
  }
};

}  // namespace int8
}  // namespace split_product

namespace reproducible {

/// Of chapter 15: sums stay integers until all of k is there.
struct Ending {
  using Sums = reproducible::Sums;
  using Partial = reproducible::Partial;
  using Place = CodesOfWarp;

  const Workspace& workspace;

  __device__ __forceinline__ CodesOfWarp add_up(const DigitSums& digits, split_product::Rings<Int8x6>& rings,
                                                Sums& sums) const {
    const TilePlace tile{split_product::scaling_at(rings.a.scaling()).tile,
                         split_product::scaling_at(rings.b.scaling()).tile};
    split_product::int8::Int8x6Loop::release(rings);
    const CodesOfWarp codes(workspace, tile);
    reproducible::add_up(digits, sums);
    return codes;
  }

  template <class Policy>
  __device__ __forceinline__ void finish(const typename Policy::Problem& p, const Schedule& schedule,
                                         const Segment& segment, const CodesOfWarp& codes, Sums& sums) const {
    if (split_product::collect<Partial>(schedule, segment, sums)) {
      Policy::store(p, workspace, codes, sums);
    }
  }
};

}  // namespace reproducible
}  // namespace SGEMM_TARGET
}  // namespace sgemm
