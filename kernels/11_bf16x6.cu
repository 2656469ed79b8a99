// Chapter 11: each FP32 product becomes six BF16 products on Hopper's tensor cores
//
// Against 10: with mma.sync each warp loads its operands from shared memory and splits them again and again. wgmma
// reads operands from shared memory itself, so they have to lie there as terms. A kernel before the product splits A
// and B once. A float is the sum of three BF16 numbers, nearly exactly and over its whole range of exponents:
//
//   x   |s|exponent|            23 mantissa bits             |     a b = a1 b1 + a1 b2 + a2 b1
//   x1  |s|exponent| 7, rounded|                                       + a2 b2 + a1 b3 + a3 b1
//   x2              |s|exponent| 7, rounded|                         + what is left out, some 2^-25 of it
//   x3                          |s|exponent| 7, rounded|
//
//   a tile of A or B        block 128 x 256, 12 warps           an operand tile in memory
//   +----------+ 128 rows   +-----------+-----------+           term 1, 16 KB: 128 rows or columns, BK = 64, 128 bytes,
//   |          | or         |  w0-w3    |  w0-w3    |  64 rows    whose 16-byte groups have changed places: swizzled
//   +----------+ columns    +-----------+-----------+           term 2
//     BK = 64               |  w4-w7    |  w4-w7    |  64 rows  term 3
//                           +-----------+-----------+           elsewhere: by how much it was scaled
//                           a tile      another one
//                           of B                      w8 copies
//
//   split      a block for each operand tile: 128 rows of A, or columns of B, by a k-tile of 64. It is written in the
//              order in which shared memory will hold it. So one instruction of one thread copies a tile, and the
//              tensor memory accelerator carries it out. The kernel fills edges with zeros, and no other code deals
//              with them.
//   scaling    a power of two for the whole tile. Numbers near FLT_MAX then do not round to Inf, and the terms of
//              nearly denormal numbers do not vanish.
//   rings      of two slots for tiles of A and two for tiles of B, as in 08: a producer thread fills them, and eight
//              consumer warps empty them. An mbarrier counts the bytes that have arrived in a slot, another one the
//              warps that are done with it.
//   promotion  tensor cores cut off the last bits of their sums. The sums of a k-tile start at 0, with the smallest
//              products first, and FADDs add them to the accumulators over all k. Both lie in registers, so there is
//              room only for the sums of 64 rows by 128 columns: B's tiles take turns, and A's tile is used twice.
//   overlap    while one warpgroup adds, the tensor cores compute the products of the other.
//   blocks     each SM has one, which takes tile after tile of C along the Hilbert curve. The first operand tiles
//              arrive while the last accumulators are stored.
//
// Traffic per element of C: k / 256 numbers of A and k / 128 of B from global memory, three terms of 2 bytes each.
// Limit: tensor cores, which are busy nearly all of the time. Their clock depends on the power that the chip draws.
//
// Elements of C that are not finite are computed again without tensor cores, which takes much longer. The same holds
// for elements of rows, columns or k-tiles that are more than 2^46 times smaller than others.
//
// Tiles of 128x128 replace those of 128x256 if they keep more SMs busy. If tiles do not keep all SMs busy, k is divided
// among blocks as well: stream-k, as in 09.
//
// Variants: `1_wgmma` to `6_persistent` lead from 10 to this kernel step by step, each in a file of its own. A table of
// what comes after `6_persistent`, and of the file that has it, is in docs/11_bf16x6.md#the-full-kernel.

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
struct Bf16x6Loop {
  using Scheme = Bf16x6;  // three BF16 terms, rings of 2 slots

  /// The products of terms that count, each by the numbers of its terms. The smallest come first: tensor cores cut off
  /// less while a sum is small.
  __device__ static constexpr TermsOfProduct product(int i) {
    constexpr TermsOfProduct ORDER[Scheme::PRODUCTS] = {{2, 0}, {0, 2}, {1, 1}, {1, 0}, {0, 1}, {0, 0}};
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
        wgmma_m64n128k16<Bf16>(
            products, wgmma_descriptor_at(a, terms.a * OperandTile<Scheme>::TERM_BYTES + k * K_BLOCK_BYTES),
            wgmma_descriptor_at(b, terms.b * OperandTile<Scheme>::TERM_BYTES + k * K_BLOCK_BYTES), i + k > 0);
      }
    }
    wgmma_commit_group();
  }

  /// accumulators += A * B for `k_tiles` k-tiles of a tile of C, of 128 columns or 256. Returns the place of that tile,
  /// which the operand tiles tell.
  /// Computing the place on the Hilbert curve takes longer than multiplying a k-tile, and the producer has computed it
  /// already.
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

using split_product::Bf16x6;
using Wide = split_product::Tile128x256<Bf16x6>;
using Narrow = split_product::Tile128x128<Bf16x6>;

template <Access ACCESS>
__global__ void __launch_bounds__(split_product::SPLIT_THREADS, split_product::SPLIT_BLOCKS_PER_SM)
    bf16x6_split_kernel(Problem p, void* workspace) {
  split_product::split<Bf16x6, ACCESS>(p, workspace);
}

template <class Shape, Access ACCESS>
__global__ void __launch_bounds__(Shape::THREADS, 1) bf16x6_kernel(Problem p, void* workspace, Schedule schedule) {
  using split_product::OneProduct;
  split_product::multiply<split_product::Bf16x6Loop, OneProduct<Shape, ACCESS>>(p, workspace, schedule);
}

constexpr split_product::Kernels<Bf16x6> KERNELS{
    bf16x6_split_kernel<Access::float4>, bf16x6_split_kernel<Access::float1>,   bf16x6_kernel<Wide, Access::float2>,
    bf16x6_kernel<Wide, Access::float1>, bf16x6_kernel<Narrow, Access::float2>, bf16x6_kernel<Narrow, Access::float1>};

const Registration registered =
    Chapter(11, "bf16x6")
        .summary("six BF16 products by wgmma for each FP32 product, operands split into three terms")
        .source("Henry et al.; Ootomo and Yokota")
        .min_compute_capability(90)
        .max_compute_capability(90)  // wgmma is gone from later ones
        .needs_code_for_sm_90a()
        .accuracy(AccuracyClass::bf16_split)
        .configurations([](const Problem& p) { return split_product::configurations(p, KERNELS); })
        .blocks_per_sm(1)
        .resources([] {
          return resources_of(bf16x6_kernel<Wide, Access::float2>, Wide::THREADS,
                              split_product::Rings<Bf16x6>::SMEM_BYTES);
        })
        .registration();

}  // namespace
#endif
}  // namespace sgemm
