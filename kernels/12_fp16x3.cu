// Chapter 12: each FP32 product becomes three FP16 products on Hopper's tensor cores
//
// Against 11: there are two terms instead of three, and so half the products and two thirds of the bytes. FP16 has 10
// mantissa bits where BF16 has 7, but only 5 bits of exponent:
//
//   x   |s|exponent|            23 mantissa bits             |     a b = a1 b1 + a1 b2 + a2 b1
//   x1  |s| 5 |10, rounded      |                                      + what is left out, some 2^-23 of it
//   x2                     |s| 5 |10, rounded       |
//
//   scaling    decides here: FP16 ends at 2^16 and begins to lose bits at 2^-14. An operand tile is scaled so that its
//              largest number lies between 2^7 and 2^15. Rows whose own largest number would lie below 2^-1 are scaled
//              by another 2^16, or twice. So x1 + x2 has 22 bits of every number from 2^-3 on. Below that it is off by
//              2^-25 at most, which is 2^-24 of the largest of its 64 neighbours in the k-tile, or less.
//   rings      have three slots for tiles of A and four for tiles of B, of 32 KB.
//
//   an operand tile            block 128 x 256, 12 warps          the main loop, for each k-tile
//   +--------+ 128 rows of A   +-----------+-----------+
//   | x1     | or columns      |  w0-w3    |  w0-w3    | 64 rows  start    12 wgmma: 3 products, 4 times 16 along k
//   +--------+ of B,           +-----------+-----------+          wait     until the tensor cores have their sums
//   | x2     | 16 KB a term    |  w4-w7    |  w4-w7    | 64 rows  release  the slot of B, and after the last one of A
//   +--------+                 +-----------+-----------+          promote  FP32 units add the sums to accumulators
//     BK = 64                  a tile      another one
//                              of B                 w8 copies     and the same with the next tile of B
//
// Splitting, stream-k and what else stands around the loop are those of 11. This kernel does not suit operands whose
// rows (of A) or columns (of B) span many decades: elements of C that are made of small numbers alone lose bits.
//
// Traffic per element of C: k / 256 numbers of A and k / 128 of B from global memory, two terms of 2 bytes each.
// Limit: as in 11 the power that the tensor cores draw, and the time for splitting, a tenth of the whole at 4096.

#include "common/problem.hpp"
#include "common/target.hpp"
#include "common/vector_access.cuh"
#include "engine/product_policy.cuh"
#include "engine/ring.cuh"
#include "engine/split_operands.cuh"
#include "engine/split_product.cuh"
#include "engine/split_schemes.cuh"
#include "engine/stream_k.cuh"
#include "host/chapter.cuh"
#include "host/launch.cuh"
#include "host/split_launch.cuh"
#include "ptx/cvt.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/wgmma.cuh"

#include <cstdint>

namespace sgemm {
inline namespace SGEMM_TARGET {
namespace split_product {

/// The main loop, for the kernels below and for those of the library (library/main_loops.cuh).
struct Fp16x3Loop {
  using Scheme = Fp16x3;  // two FP16 terms, rings of 3 and 4 slots

  /// The products of terms that count, each by the numbers of its terms. The smallest come first: tensor cores cut off
  /// less while a sum is small.
  __device__ static constexpr TermsOfProduct product(int i) {
    constexpr TermsOfProduct ORDER[Scheme::PRODUCTS] = {{1, 0}, {0, 1}, {0, 0}};
    return ORDER[i];
  }

  /// Starts all products of 64 rows of a tile of A by a tile of B. They replace the content of `products`.
  __device__ __forceinline__ static void start_products(float (&products)[64], unsigned a_tile, unsigned b_tile) {
    const std::uint64_t a = wgmma_descriptor(a_tile);
    const std::uint64_t b = wgmma_descriptor(b_tile);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < Scheme::PRODUCTS; ++i) {
      const TermsOfProduct terms = product(i);
#pragma unroll
      for (int k = 0; k < BK / WGMMA_K; ++k) {
        wgmma_m64n128k16<Fp16>(
            products, wgmma_descriptor_at(a, terms.a * OperandTile<Scheme>::TERM_BYTES + k * K_BLOCK_BYTES),
            wgmma_descriptor_at(b, terms.b * OperandTile<Scheme>::TERM_BYTES + k * K_BLOCK_BYTES), i + k > 0);
      }
    }
    wgmma_commit_group();
  }

  /// accumulators += A * B for `k_tiles` k-tiles of a tile of C, of 128 columns or 256. Returns the place of that tile,
  /// which the operand tiles tell.
  template <int B_TILES>
  __device__ __forceinline__ static TilePlace multiply(int k_tiles, Rings<Scheme>& rings,
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
        if (!same_exponent) {
          accumulators.template rescale<Scheme>(b_tile, products, a, b, first_row(threadIdx.x),
                                                first_column(threadIdx.x));
        }

        // Tensor cores have read the slots, which producers may fill again.
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
          accumulators.values[b_tile][i] += products[i];
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
                                                 Rings<Scheme> rings) {
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

}  // namespace split_product
}  // namespace SGEMM_TARGET

#ifndef SGEMM_MAIN_LOOP_ONLY
namespace {

using split_product::Fp16x3;
using Wide = split_product::Tile128x256<Fp16x3>;
using Narrow = split_product::Tile128x128<Fp16x3>;

template <Access ACCESS>
__global__ void __launch_bounds__(split_product::SPLIT_THREADS, split_product::SPLIT_BLOCKS_PER_SM)
    fp16x3_split_kernel(Problem p, void* workspace) {
  split_product::split<Fp16x3, ACCESS>(p, workspace);
}

template <class Shape, Access ACCESS>
__global__ void __launch_bounds__(Shape::THREADS, 1) fp16x3_kernel(Problem p, void* workspace, Schedule schedule) {
  using split_product::OneProduct;
  split_product::multiply<split_product::Fp16x3Loop, OneProduct<Shape, ACCESS>>(p, workspace, schedule);
}

constexpr split_product::Kernels<Fp16x3> KERNELS{
    fp16x3_split_kernel<Access::float4>, fp16x3_split_kernel<Access::float1>,   fp16x3_kernel<Wide, Access::float2>,
    fp16x3_kernel<Wide, Access::float1>, fp16x3_kernel<Narrow, Access::float2>, fp16x3_kernel<Narrow, Access::float1>};

const Registration registered =
    Chapter(12, "fp16x3")
        .summary("three FP16 products by wgmma for each FP32 product, operands scaled and split into two terms")
        .source("Ootomo and Yokota; Markidis et al.")
        .min_compute_capability(90)
        .max_compute_capability(90)  // wgmma is gone from later ones
        .needs_code_for_sm_90a()
        .accuracy(AccuracyClass::fp16_split)
        .configurations([](const Problem& p) { return split_product::configurations(p, KERNELS); })
        .blocks_per_sm(1)
        .resources([] {
          return resources_of(fp16x3_kernel<Wide, Access::float2>, Wide::THREADS,
                              split_product::Rings<Fp16x3>::SMEM_BYTES);
        })
        .registration();

}  // namespace
#endif
}  // namespace sgemm
