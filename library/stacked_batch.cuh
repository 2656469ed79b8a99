#pragma once

// Many products in one launch of the engine's kernels. For the engine, a batch is one problem, in which the
// operand tiles of all A follow one another, and those of all B. Its C would have all pairs of them as tiles. Of these,
// only the ones whose operand tiles belong to the same product are computed.

#include "common/hilbert.hpp"
#include "common/problem.hpp"
#include "common/target.hpp"
#include "common/vector_access.cuh"
#include "deferred_elements.cuh"
#include "engine/product_policy.cuh"
#include "engine/split_operands.cuh"
#include "engine/split_product.cuh"
#include "engine/stream_k.cuh"
#include "gemm_problem.hpp"

#include <cuda_runtime.h>

#include <climits>
#include <cstdint>

namespace sgemm::SGEMM_TARGET::split_product {

/// Tells the compiler that an address from an array is one of global memory, as it knows of a kernel's arguments. Other
/// loads and stores take longer.
__device__ __forceinline__ void assume_global([[maybe_unused]] const float* address) {
#ifdef __CUDACC__
  __builtin_assume(__isGlobal(address));
#endif
}

/// Product number `index` of a batch, all of whose matrices are in global memory.
__device__ __forceinline__ GemmProblem product_of(const GemmBatch& batch, std::int64_t index) {
  const GemmProblem p = batch.problem(index);
  assume_global(p.a);
  assume_global(p.b);
  assume_global(p.c);
  return p;
}

/// The batch as the engine's problem. Its operands and C are not used; those of the products are.
struct StackedProblem : Problem {
  /// `notes` has room for the tiles of all C.
  StackedProblem(const GemmBatch& of, void* notes)
      : batch(of),
        a_tiles(static_cast<int>(tiles_along(of.first.m))),
        b_tiles(static_cast<int>(tiles_along(of.first.n))),
        deferred(of.count * tiles_of_c(of.first), notes) {
    m = of.count * a_tiles * TILE_ROWS;
    n = of.count * b_tiles * TILE_ROWS;
    k = of.first.k;
  }

  GemmBatch batch;
  // Of one product:
  int a_tiles;
  int b_tiles;
  Deferred deferred;

  __device__ __forceinline__ DeferringProblem product(int index) const {
    return {product_of(batch, index), Deferred(deferred, static_cast<std::int64_t>(index) * a_tiles * b_tiles)};
  }
};

/// The first thread's value, so that the compiler knows that it is the same for the warp.
__device__ __forceinline__ int of_warp(int value) { return __shfl_sync(~0U, value, 0); }

/// The policy of kernels that compute a batch.
template <class Split>
struct ManyGemms {
  using Shape = Tile128x128<Split>;
  using Problem = StackedProblem;

  static constexpr int FEWEST_ROUNDS_IN_WINDOW = INT_MAX;  // none: blocks share little

  /// The products come one after the other, and tiles of a product lie along the Hilbert curve.
  __device__ __forceinline__ static Tile tile_at(const StackedProblem& p, int position) {
    const int product = position / (p.a_tiles * p.b_tiles);
    const TileIndex index = hilbert_tile(position - product * p.a_tiles * p.b_tiles, p.a_tiles, p.b_tiles);
    return {product * p.a_tiles + index.row, product * p.b_tiles + index.col, 1};
  }

  __device__ __forceinline__ static void before_first_tile() { defer_nothing(); }

  static constexpr bool STORES_ALL_TILES = false;
  /// Places are counted through the batch. Each C may be aligned or not.
  __device__ __forceinline__ static void store(const StackedProblem& p, std::int64_t first_row, std::int64_t first_col,
                                               const float (&sums)[64]) {
    const int number = of_warp(static_cast<int>(first_row / TILE_ROWS) / p.a_tiles);
    const DeferringProblem product = p.product(number);
    const std::int64_t row = first_row - static_cast<std::int64_t>(number) * p.a_tiles * TILE_ROWS;
    const std::int64_t col = first_col - static_cast<std::int64_t>(number) * p.b_tiles * TILE_ROWS;
    if (of_warp(rows_split_into<2>(product.c, product.n, product.ldc) ? 1 : 0) != 0) {
      OneGemm<Shape, Access::float2>::store(product, row, col, sums);
    } else {
      OneGemm<Shape, Access::float1>::store(product, row, col, sums);
    }
  }

  __device__ __forceinline__ static void after_last_tile(const StackedProblem& p, const Schedule& schedule) {
    compute_deferred<ManyGemms>(p, schedule, [&](int a_tile, int b_tile) {
      const int product = a_tile / p.a_tiles;
      compute_tile(p.product(product), a_tile - product * p.a_tiles, b_tile - product * p.b_tiles);
    });
  }
};

}  // namespace sgemm::SGEMM_TARGET::split_product
