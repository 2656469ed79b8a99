// Chapter 15: an element of C has the same bits wherever it is computed
//
// Against 13: the sums of digits are exact in 13 already, but a tile that stream-k or long k divides becomes floats
// before its parts meet, and those are rounded one after the other. Here parts stay integers until the whole sum is
// there. Then one number is rounded once:
//
//   sums[0], sums[1], sums[2]     INT32, exact: T0, T1, T2 of a part along k
//        |
//   S = T0 2^16 + T1 2^8 + T2     INT64, exact for any k; parts add up in any order
//        |
//   alpha * S 2^(row + column)    FP64, one rounding; both exponents are those of 13's scales
//        |
//   fma(beta, C, ...)             FP64
//        |
//   C                             FP32
//
// So an element is a function of its row of A, its column of B, alpha, beta, its old value and k. The size of C, the
// place in it, the leading dimensions, the number of SMs and who adds up what have no part in it. Every other way to
// compute the same integers gives the same bits: mma.sync, dot products of four bytes, a CPU. docs/15_reproducible.md
// has the definition, and reproducible/reference.cpp has it as plain C++.
//
// Rows and columns with Inf, NaN, numbers near FLT_MAX, or denormal numbers alone have no integers, as in 13. Their
// elements are sums in FP64, in the order of k.
//
// Traffic: that of 13. A part of a tile takes 128 KB in place of 64.
// Limit: that of 13, and some 2000 cycles more at the end of each tile.

#include "common/problem.hpp"
#include "common/target.hpp"
#include "common/vector_access.cuh"
#include "engine/int8_operands.cuh"
#include "engine/int8_product.cuh"
#include "engine/reproducible.cuh"
#include "engine/reproducible_tile.cuh"
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
namespace reproducible {

/// The main loop, for the kernels below and for those of the library (library/main_loops.cuh).
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

#ifndef SGEMM_MAIN_LOOP_ONLY
namespace {

namespace int8 = split_product::int8;
using split_product::SPLIT_BLOCKS_PER_SM;
using split_product::SPLIT_THREADS;

template <Access ACCESS>
__global__ void __launch_bounds__(SPLIT_THREADS) reproducible_maxima_kernel(Problem p, void* maxima) {
  int8::find_maxima<ACCESS>(p, maxima);
}

template <Access ACCESS>
__global__ void __launch_bounds__(SPLIT_THREADS, SPLIT_BLOCKS_PER_SM)
    reproducible_split_kernel(Problem p, void* maxima, void* workspace) {
  int8::split<ACCESS>(p, maxima, workspace);
}

template <Access ACCESS>
__global__ void __launch_bounds__(SPLIT_THREADS, int8::LINES_BLOCKS_PER_SM)
    reproducible_split_lines_kernel(Problem p, void* workspace, int8::LinesOfCluster share) {
  int8::split_lines<ACCESS>(p, workspace, share);
}

template <Access ACCESS>
__global__ void __launch_bounds__(int8::Shape::THREADS, 1)
    reproducible_kernel(Problem p, void* maxima_memory, void* memory, Schedule schedule) {
  using Policy = reproducible::OneProduct<int8::Shape, ACCESS>;
  const reproducible::Workspace workspace(p, memory);
  split_product::produce_and_consume<Policy>(p, workspace, schedule, [&](const reproducible::Loop::Rings& rings) {
    const int8::Maxima maxima(p, maxima_memory);
    reproducible::Loop::consume<Policy>(p, workspace, schedule, rings);
    int8::reset(maxima);
  });
}

constexpr int8::Kernels KERNELS{reproducible_maxima_kernel<Access::float4>,
                                reproducible_maxima_kernel<Access::float1>,
                                reproducible_split_kernel<Access::float4>,
                                reproducible_split_kernel<Access::float1>,
                                reproducible_split_lines_kernel<Access::float4>,
                                reproducible_split_lines_kernel<Access::float1>,
                                int8::LARGEST_CLUSTER,
                                reproducible_kernel<Access::float2>,
                                reproducible_kernel<Access::float1>};

const Registration registered =
    Chapter(15, "reproducible")
        .summary("13 with sums that stay exact integers to the end: the same bits for every size, split and GPU")
        .source("Ootomo, Ozaki and Yokota")
        .min_compute_capability(90)
        .max_compute_capability(90)  // wgmma is gone from later ones
        .needs_code_for_sm_90a()
        .accuracy(AccuracyClass::int8_split)
        .configurations([](const Problem& p) { return int8::configurations<reproducible::Sum>(p, KERNELS); })
        .blocks_per_sm(1)
        .resources([] {
          return resources_of(reproducible_kernel<Access::float2>, int8::Shape::THREADS,
                              reproducible::Loop::Rings::SMEM_BYTES);
        })
        .registration();

}  // namespace
#endif
}  // namespace sgemm
