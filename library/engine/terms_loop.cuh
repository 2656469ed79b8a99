#pragma once

// The main loop of products of FP16 or BF16 terms on Hopper's tensor cores (sm_90a), for every kernel of the library
// that multiplies split operands. Chapters 11 and 12 explain it, each in a form of its own that is made to be read.
// Here a policy adds what programs need: layouts, batches and epilogues.

#include "common/target.hpp"
#include "engine/ring.cuh"
#include "engine/split_configurations.cuh"
#include "engine/split_operands.cuh"
#include "engine/split_product.cuh"
#include "engine/stream_k.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/wgmma.cuh"

#include <cmath>
#include <cstdint>

namespace sgemm::SGEMM_TARGET::split_product {

template <class Split_>
struct TermsLoop {
  using Split = Split_;

  /// The products of terms that count, each by the numbers of its terms. The smallest come first: tensor cores cut off
  /// less while a sum is small.
  __device__ static constexpr TermsOfProduct product(int i) {
    if constexpr (Split::TERMS == 3) {
      constexpr TermsOfProduct ORDER[Split::PRODUCTS] = {{2, 0}, {0, 2}, {1, 1}, {1, 0}, {0, 1}, {0, 0}};
      return ORDER[i];
    } else {
      constexpr TermsOfProduct ORDER[Split::PRODUCTS] = {{1, 0}, {0, 1}, {0, 0}};
      return ORDER[i];
    }
  }

  /// Starts all products of 64 rows of a tile of A by a tile of B. They replace the content of `products`.
  __device__ __forceinline__ static void start_products(float (&products)[64], unsigned a_tile, unsigned b_tile) {
    const std::uint64_t a = wgmma_descriptor(a_tile);
    const std::uint64_t b = wgmma_descriptor(b_tile);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < Split::PRODUCTS; ++i) {
      const TermsOfProduct terms = product(i);
#pragma unroll
      for (int k = 0; k < BK / WGMMA_K; ++k) {
        wgmma_m64n128k16<typename Split::Format>(
            products, wgmma_descriptor_at(a, terms.a * OperandTile<Split>::TERM_BYTES + k * K_BLOCK_BYTES),
            wgmma_descriptor_at(b, terms.b * OperandTile<Split>::TERM_BYTES + k * K_BLOCK_BYTES), i + k > 0);
      }
    }
    wgmma_commit_group();
  }

  /// accumulators += A * B for `k_tiles` k-tiles of a tile of C, of 128 columns or 256. Returns the place of that tile,
  /// which the operand tiles tell.
  /// Computing the place on the Hilbert curve takes longer than multiplying a k-tile, and the producer has computed it
  /// already.
  template <int B_TILES>
  __device__ __forceinline__ static TilePlace multiply(int k_tiles, Rings<Split>& rings,
                                                       Accumulators<B_TILES>& accumulators) {
    const unsigned rows_of_group = threadIdx.x / WARPGROUP * (WGMMA_M * WGMMA_ROW_BYTES);
    TilePlace tile{};
    for (; k_tiles > 0; --k_tiles) {
      rings.a.wait_until_full();
      bool last = B_TILES == 1;  // of the tiles of B that meet this one of A
#pragma unroll
      for (int b_tile = 0; b_tile < B_TILES; ++b_tile) {
        if (b_tile > 0 && last) {
          break;
        }
        float products[64];
        rings.b.wait_until_full();
        start_products(products, rings.a.tile() + rows_of_group, rings.b.tile());

        // Meanwhile: are the products scaled as the accumulators are, and does another tile of B follow?
        const Scaling& a = scaling_at(rings.a.scaling());
        const Scaling& b = scaling_at(rings.b.scaling());
        const bool same_exponent = accumulators.same_exponent(b_tile, a, b);
        if (b_tile == 0) {
          tile = {a.tile, b.tile};
          last = last || __shfl_sync(~0U, b.has_next, 0) == 0;  // at the right edge of C
        } else {
          last = true;
        }
        wgmma_wait_group<0>(products);
        float factor = 1.0F;
        if (!same_exponent) {
          factor = accumulators.template rescale<Split>(b_tile, products, a, b, first_row(threadIdx.x),
                                                        first_column(threadIdx.x));
        }

        // Tensor cores have read the stages, which producers may fill again.
        __syncwarp();
        if (threadIdx.x % WARP == 0) {
          mbarrier_arrive(rings.b.empty());
          if (last) {
            mbarrier_arrive(rings.a.empty());
          }
        }
        rings.b.advance();

        // Promotion: FP32 units add what tensor cores have summed over one k-tile.
#pragma unroll
        for (int i = 0; i < 64; ++i) {
          accumulators.values[b_tile][i] = fmaf(products[i], factor, accumulators.values[b_tile][i]);
        }
      }
      rings.a.advance();
    }
    return tile;
  }

  /// A consumer warpgroup: it multiplies and stores segment after segment, each a tile of C or, by stream-k, a part of
  /// one along k.
  template <class Policy>
  __device__ __forceinline__ static void consume(const typename Policy::Problem& p, const Schedule& schedule,
                                                 Rings<Split> rings) {
    Work work(schedule);
#pragma unroll 1
    while (!work.done(schedule)) {
      const Segment segment = work.next(schedule);
      Accumulators<Policy::Shape::B_TILES> accumulators;
      const TilePlace tile = multiply(segment.count, rings, accumulators);
      accumulators.undo_scaling();
      finish<Policy>(p, schedule, segment, tile, accumulators.values);
    }
  }
};

using Bf16x6Loop = TermsLoop<Bf16x6>;
using Fp16x3Loop = TermsLoop<Fp16x3>;

}  // namespace sgemm::SGEMM_TARGET::split_product
