// Chapter 13: each FP32 product becomes six INT8 products on Hopper's tensor cores
//
// Against 12: tensor cores multiply integers of 8 bits twice as fast as numbers of 16 bits, and add them up exactly. A
// float becomes an integer of 23 bits by one power of two for its whole row of A or column of B, and the integer three
// signed digits to the base 256:
//
//   x 2^e = d1 2^16 + d2 2^8 + d3, rounded        a b 2^(e + f) = 2^32 (d1 d1)
//   digits from -128 to 127                                     + 2^24 (d1 d2 + d2 d1)
//                                                               + 2^16 (d1 d3 + d2 d2 + d3 d1) + what is left out
//
//   maxima     a kernel of its own finds the largest number of each row of A and each column of B.
//   split      another one writes the digits, operand tile by operand tile: 128 rows of A, or columns of B, by a k-tile
//              of 128. A digit takes a byte, so that an operand tile has the 48 KB and the layout of 11's.
//   lines      up to k = 32768, one kernel does both: the registers of one or more blocks hold whole rows or columns.
//   sums       three for each element of C, one for each power of 256. They stay in registers over all k: 192 of a
//              thread's, so that tiles of C are 128x128. Nothing is rounded, and no FP32 unit adds. The three sums
//              become one float at the end. INT32 has room for 43648 k; longer sums are cut into pieces.
//   rings      of two slots for tiles of A and two for tiles of B. Every other round of tiles goes back along k.
//
// Chapter 11 has and explains the rest. One scale for all of a row means that numbers far below the largest one lose
// digits: the error of an element is small beside K times the largest number of its row of A times that of its column
// of B, and need not be small beside the element. Rows and columns may be of any scale.
//
// Elements of C in lines with Inf, NaN, numbers near FLT_MAX or denormal numbers alone take no tensor cores.
//
// Traffic per element of C: k / 128 numbers of A and of B from global memory, three digits of a byte each.
// Limit: tensor cores, six products at twice the rate of 12's three.

#include "common/problem.hpp"
#include "common/target.hpp"
#include "common/vector_access.cuh"
#include "engine/int8_operands.cuh"
#include "engine/int8_product.cuh"
#include "engine/product_policy.cuh"
#include "engine/split_product.cuh"
#include "engine/split_schemes.cuh"
#include "engine/stream_k.cuh"
#include "host/chapter.cuh"
#include "host/int8_launch.cuh"
#include "host/launch.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/wgmma.cuh"

#include <cstdint>

namespace sgemm {
inline namespace SGEMM_TARGET {
namespace split_product {
namespace int8 {

/// The main loop, for the kernels below and for those of the library (library/main_loops.cuh).
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

#ifndef SGEMM_MAIN_LOOP_ONLY
namespace {

namespace int8 = split_product::int8;
using split_product::Int8x6;
using split_product::SPLIT_BLOCKS_PER_SM;
using split_product::SPLIT_THREADS;

template <Access ACCESS>
__global__ void __launch_bounds__(SPLIT_THREADS) int8x6_maxima_kernel(Problem p, void* maxima) {
  int8::find_maxima<ACCESS>(p, maxima);
}

template <Access ACCESS>
__global__ void __launch_bounds__(SPLIT_THREADS, SPLIT_BLOCKS_PER_SM)
    int8x6_split_kernel(Problem p, void* maxima, void* workspace) {
  int8::split<ACCESS>(p, maxima, workspace);
}

template <Access ACCESS>
__global__ void __launch_bounds__(SPLIT_THREADS, int8::LINES_BLOCKS_PER_SM)
    int8x6_split_lines_kernel(Problem p, void* workspace, int8::LinesOfCluster share) {
  int8::split_lines<ACCESS>(p, workspace, share);
}

template <Access ACCESS>
__global__ void __launch_bounds__(int8::Shape::THREADS, 1)
    int8x6_kernel(Problem p, void* maxima_memory, void* memory, Schedule schedule) {
  using Policy = split_product::OneProduct<int8::Shape, ACCESS>;
  const split_product::Workspace<Int8x6> workspace(p, memory);
  split_product::produce_and_consume<Policy>(p, workspace, schedule, [&](const split_product::Rings<Int8x6>& rings) {
    const int8::Maxima maxima(p, maxima_memory);
    int8::Int8x6Loop::consume<Policy>(p, schedule, rings);
    int8::reset(maxima);
  });
}

constexpr int8::Kernels KERNELS{int8x6_maxima_kernel<Access::float4>,
                                int8x6_maxima_kernel<Access::float1>,
                                int8x6_split_kernel<Access::float4>,
                                int8x6_split_kernel<Access::float1>,
                                int8x6_split_lines_kernel<Access::float4>,
                                int8x6_split_lines_kernel<Access::float1>,
                                int8::LARGEST_CLUSTER,
                                int8x6_kernel<Access::float2>,
                                int8x6_kernel<Access::float1>};

const Registration registered =
    Chapter(13, "int8x6")
        .summary("six INT8 products by wgmma for each FP32 product, exact sums of three digits with one scale per row")
        .source("Ootomo, Ozaki and Yokota")
        .min_compute_capability(90)
        .max_compute_capability(90)  // wgmma is gone from later ones
        .needs_code_for_sm_90a()
        .accuracy(AccuracyClass::int8_split)
        .configurations([](const Problem& p) { return int8::configurations(p, KERNELS); })
        .blocks_per_sm(1)
        .resources([] {
          return resources_of(int8x6_kernel<Access::float2>, int8::Shape::THREADS,
                              split_product::Rings<Int8x6>::SMEM_BYTES);
        })
        .registration();

}  // namespace
#endif
}  // namespace sgemm
