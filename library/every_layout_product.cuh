#pragma once

// FP32 products by warp-specialized blocks, for operands of any layout and many products in one launch: chapter 09's
// way, with tiles and copies that a chapter does not need. Blocks may be persistent and share tiles along k.

#include "common/epilogue.cuh"
#include "common/hilbert.hpp"
#include "common/keep_in_register.cuh"
#include "common/vector_access.cuh"
#include "common/warp_specialized.cuh"
#include "engine/stream_k.cuh"
#include "gemm_problem.hpp"
#include "gemm_scalars.cuh"
#include "ptx/setmaxnreg.cuh"
#include "ptx/shared_memory.cuh"
#include "split_algorithms.cuh"
#include "stacked_batch.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sgemm {
namespace {

using namespace warp_specialized;

template <class Shape>
using PartialSumsOf = PartialSums<Shape::CONSUMER_WARPS, FINISHED_ROWS<Shape>, TN>;
template <class Shape>
using SharesMemoryOf = SharesMemory<Shape::CONSUMER_WARPS, FINISHED_ROWS<Shape>, TN>;

/// A batch as the kernel gets it. Tiles of one product follow those of another.
struct TiledBatch {
  GemmBatch batch;
  int tiles;  ///< of each product
};

/// A tile's product, and its number among those of the product.
struct TileOfProduct {
  GemmProblem product;
  int number;
};

__device__ __forceinline__ TileOfProduct tile_of(const TiledBatch& p, int number) {
  const int index = number / p.tiles;
  GemmProblem product = p.batch.problem(index);
  split_product::assume_global(product.c);
  const split_product::Scalars scalars = scalars_of(product);
  product.alpha = scalars.alpha;
  product.beta = scalars.beta;
  return {product, number - index * p.tiles};
}

/// Makes the sums of a tile elements of C. ACCESS: how C is stored.
template <class Shape, Access ACCESS>
__device__ __forceinline__ void store_tile(const Problem& p, int number,
                                           const float (&sums)[FINISHED_ROWS<Shape>][TN]) {
  const TileOrigin tile = tile_on_curve<Shape::BM, Shape::BN>(p, number);
  const unsigned thread = keep_in_register(threadIdx.x);  // computed again, not kept through the loop
  const std::int64_t row = tile.row + row_in_tile<Shape>(thread);
  const std::int64_t col = tile.col + column_in_tile<Shape>(thread);
  const int slice = static_cast<int>(slice_of<Shape>(thread));
  if (ACCESS == Access::float4 && p.alpha == 1.0F && p.beta == 0.0F) {  // as in chapter 08
    store<Shape, ACCESS, Epilogue::sums>(p, row, col, slice, sums);
  } else {
    store<Shape, ACCESS, Epilogue::scaled>(p, row, col, slice, sums);
  }
}

/// A segment at the beginning of its tile becomes C, together with the partial sums that other blocks have of the tile.
/// Any other segment becomes partial sums for the block that has the beginning.
template <class Shape>
__device__ __forceinline__ void finish(const TiledBatch& p, const Schedule& schedule, const Segment& segment,
                                       float (&accumulators)[FINISHED_ROWS<Shape>][TN]) {
  if (segment.first > 0) {
    PartialSumsOf<Shape>(schedule, Work::share()).publish(accumulators);
    return;
  }
  if (segment.count < schedule.k_tiles) {
    const int first_share = Work::share() + 1;
    const int end_of_tile = (segment.tile - schedule.whole + 1) * schedule.k_tiles;
    if constexpr (Shape::SLICES > 1) {
      const int lane = static_cast<int>(threadIdx.x) % WARP;
      // Each lane waits for another flag at the same time, because every look at a flag goes to the L2. Without slices
      // a tile has few shares, and these lines would cost the main loop registers.
      for (int share = first_share + lane; schedule.begin_of_share(share) < end_of_tile; share += WARP) {
        PartialSumsOf<Shape>(schedule, share).wait();
      }
      __syncwarp();
    }
#pragma unroll 1
    for (int share = first_share; schedule.begin_of_share(share) < end_of_tile; ++share) {
      if constexpr (Shape::SLICES == 1) {
        if (threadIdx.x % WARP == 0) {
          PartialSumsOf<Shape>(schedule, share).wait();
        }
        __syncwarp();
      }
      PartialSumsOf<Shape>(schedule, share).add_to(accumulators);
    }
  }
  const TileOfProduct tile = tile_of(p, segment.tile);
  const GemmProblem& product = tile.product;  // each C may be aligned or not
  if (split_product::of_warp(rows_split_into<4>(product.c, product.n, product.ldc) ? 1 : 0) != 0) {
    store_tile<Shape, Access::float4>(product, tile.number, accumulators);
  } else {
    store_tile<Shape, Access::float1>(product, tile.number, accumulators);
  }
}

template <class Shape, Reading READ_A, Reading READ_B>
__global__ void __launch_bounds__(Shape::THREADS, 1) every_layout_kernel(TiledBatch p, Schedule schedule) {
  const unsigned smem = shared_address(dynamic_smem());
  Shape::Ring::init(smem, Shape::CONSUMER_WARPS, PRODUCER_THREADS);
  __syncthreads();

  Work work(schedule);
  if (threadIdx.x >= Shape::CONSUMER_THREADS) {
    setmaxnreg_dec<Shape::PRODUCER_REGISTERS>();
    Producer<Shape, READ_A, READ_B> producer(smem);
    while (!work.done(schedule)) {
      const Segment segment = work.next(schedule);
      TileOfProduct tile = tile_of(p, segment.tile);
      const TileOrigin origin = tile_on_curve<Shape::BM, Shape::BN>(tile.product, tile.number);
      if (tile.product.alpha == 0.0F) {  // A and B are not read then, and count as zeros
        tile.product.m = 0;
        tile.product.n = 0;
      }
      producer.produce(tile.product, origin, segment.first, segment.count);
    }
    return;
  }
  setmaxnreg_inc<Shape::CONSUMER_REGISTERS>();
  Consumer<Shape> consumer(smem);
#pragma unroll 1
  while (!work.done(schedule)) {
    const Segment segment = work.next(schedule);
    float accumulators[TM][TN] = {};
    consumer.consume(segment.count, accumulators);
    if constexpr (Shape::SLICES == 1) {
      finish<Shape>(p, schedule, segment, accumulators);
    } else {
      float finished[FINISHED_ROWS<Shape>][TN];
      add_slices<Shape>(accumulators, finished);
      finish<Shape>(p, schedule, segment, finished);
    }
  }
}

}  // namespace
}  // namespace sgemm
