// Chapter 09's kernel for operands of any layout, scalars on the host or on the GPU, and many products in one launch.

#include "algorithms.hpp"
#include "common/ceil_div.hpp"
#include "common/cuda_check.hpp"
#include "common/target.hpp"
#include "gemm_problem.hpp"
#include "gemm_scalars.cuh"
#include "host/alignment.hpp"
#include "host/launch.cuh"
#include "predicted_time.hpp"
#include "split_algorithms.cuh"
#include "stacked_batch.cuh"

#define SGEMM_MAIN_LOOP_ONLY
#include "09_every_shape.cu"
#undef SGEMM_MAIN_LOOP_ONLY

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace sgemm {
namespace {

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

/// The policy of kernels that compute a batch.
template <Reading READ_A_, Reading READ_B_>
struct ManyProducts {
  using Problem = TiledBatch;
  static constexpr Reading READ_A = READ_A_;
  static constexpr Reading READ_B = READ_B_;

  template <class Shape>
  __device__ __forceinline__ static void produce(const TiledBatch& p, const Segment& segment,
                                                 Producer<Shape, READ_A, READ_B>& producer) {
    TileOfProduct tile = tile_of(p, segment.tile);
    const TileOrigin origin = tile_on_curve<Shape::BM, Shape::BN>(tile.product, tile.number);
    if (tile.product.alpha == 0.0F) {  // A and B are not read then, and count as zeros
      tile.product.m = 0;
      tile.product.n = 0;
    }
    producer.produce(tile.product, origin, segment.first, segment.count);
  }

  /// Each C may be aligned or not.
  template <class Shape>
  __device__ __forceinline__ static void store(const TiledBatch& p, int number,
                                               const float (&sums)[FINISHED_ROWS<Shape>][TN]) {
    const TileOfProduct tile = tile_of(p, number);
    const GemmProblem& product = tile.product;
    if (split_product::of_warp(split_product::rows_split_into<4>(product.c, product.n, product.ldc) ? 1 : 0) != 0) {
      OneProduct<Access::float4>::store<Shape>(product, tile.number, sums);
    } else {
      OneProduct<Access::float1>::store<Shape>(product, tile.number, sums);
    }
  }
};

template <class Shape, class Policy>
Algorithm algorithm(const GemmBatch& batch, int multiprocessors, bool streamed) {
  using Memory = SharesMemoryOf<Shape>;
  const int tiles = static_cast<int>(tiles_of<Shape::BM, Shape::BN>(batch.first));
  const Plan planned = plan(static_cast<int>(batch.count) * tiles, k_tiles_of<Shape>(batch.first), multiprocessors,
                            streamed);
  const int shares = shares_of<Shape>(multiprocessors);
  Algorithm algorithm;
  algorithm.kernel = "09_every_shape";
  algorithm.configuration = name_of<Shape>(streamed);
  algorithm.workspace_bytes = streamed ? Memory::bytes(shares) : 0;
  algorithm.microseconds = every_shape_microseconds(predicted_cycles<Shape>(planned, multiprocessors, streamed), 1);
  algorithm.launch = [=](const GemmBatch& of, void* workspace, cudaStream_t stream) {
    Plan work = planned;
    if (streamed) {
      Memory::place(work.schedule, workspace, shares);
      CUDA_CHECK(cudaMemsetAsync(workspace, 0, Memory::sums_at(shares), stream));
    }
    launch(every_shape_streamed_kernel<Shape, Policy>, work.blocks, dim3(Shape::THREADS), Shape::SMEM_BYTES, stream,
           TiledBatch{of, tiles}, work.schedule);
  };
  return algorithm;
}

/// Adds a tile, with all blocks of one tile or with persistent ones. Only these keep to fewer multiprocessors than the
/// device has.
template <class Shape, class Policy>
void add(std::vector<Algorithm>& algorithms, const GemmBatch& batch, const Device& device, int multiprocessors) {
  const double k_tiles = static_cast<double>(batch.count) *
                         static_cast<double>(tiles_of<Shape::BM, Shape::BN>(batch.first)) *
                         k_tiles_of<Shape>(batch.first);
  if (!suits<Shape>(batch.first, device) || k_tiles > std::numeric_limits<int>::max()) {
    return;
  }
  algorithms.push_back(algorithm<Shape, Policy>(batch, multiprocessors, true));
  if (Shape::PARTS == 1 && multiprocessors == device.multiprocessors) {
    algorithms.push_back(algorithm<Shape, Policy>(batch, multiprocessors, false));
  }
}

template <Reading READ_A, Reading READ_B>
std::vector<Algorithm> algorithms_for(const GemmBatch& batch, const Device& device, int multiprocessors) {
  using Policy = ManyProducts<READ_A, READ_B>;
  // Where no operand is copied in groups of four, copies take longer, and a ring with more slots is better.
  constexpr bool BY_FOUR = READ_A == Reading::across_k_by_four || READ_B == Reading::across_k_by_four;
  using Square = std::conditional_t<BY_FOUR, Tile128x128, Tile128x128Scalar>;
  std::vector<Algorithm> all;
  add<TileShape<Tile128x256>, Policy>(all, batch, device, multiprocessors);
  add<TileShape<Tile256x128>, Policy>(all, batch, device, multiprocessors);
  add<TileShape<Square>, Policy>(all, batch, device, multiprocessors);
  add<TileShape<Tile128x64>, Policy>(all, batch, device, multiprocessors);
  add<TileShape<Tile64x128>, Policy>(all, batch, device, multiprocessors);
  add<TileShape<Tile64x64>, Policy>(all, batch, device, multiprocessors);
  add<TileShape<Tile128x256InHalves>, Policy>(all, batch, device, multiprocessors);
  return all;
}

/// Whether all matrices of a batch split into aligned groups of four in every row.
bool split_into_float4(const GemmBatch& batch, const float* first, std::int64_t stride, std::int64_t columns,
                       std::int64_t ld) {
  return !batch.addresses_on_device() && (batch.count == 1 || stride % 4 == 0) &&
         rows_split_into_float4(first, columns, ld);
}

}  // namespace

std::vector<Algorithm> every_layout_algorithms(const GemmBatch& batch, int multiprocessors) {
  const Device device = current_device();
  if (device.compute_capability < 90) {
    return {};
  }
  const GemmProblem& p = batch.first;
  const bool by_four =
      (!p.a_transposed || split_into_float4(batch, p.a, batch.stride_a, p.m, p.lda)) &&
      (p.b_transposed || split_into_float4(batch, p.b, batch.stride_b, p.n, p.ldb));
  const auto with = [&](auto read_a, auto read_b) {
    return algorithms_for<read_a, read_b>(batch, device, multiprocessors);
  };
  constexpr std::integral_constant<Reading, Reading::along_k> ALONG_K;
  constexpr std::integral_constant<Reading, Reading::across_k> ACROSS_K;
  constexpr std::integral_constant<Reading, Reading::across_k_by_four> BY_FOUR;
  return p.a_transposed ? p.b_transposed ? by_four ? with(BY_FOUR, ALONG_K) : with(ACROSS_K, ALONG_K)
                          : by_four      ? with(BY_FOUR, BY_FOUR)
                                         : with(ACROSS_K, ACROSS_K)
         : p.b_transposed ? with(ALONG_K, ALONG_K)
         : by_four        ? with(ALONG_K, BY_FOUR)
                          : with(ALONG_K, ACROSS_K);
}

}  // namespace sgemm
