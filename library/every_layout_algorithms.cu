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

#include "sliced_product.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
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

/// A tile, with its ring as copies of both operands want it.
template <class Tile, class Policy>
struct Copied : Tile {
  static constexpr bool B_ALONG_K = Policy::READ_B == Reading::along_k;
  static constexpr bool ALIGNED_B = Tile::ALIGNED_B && !B_ALONG_K;
  static constexpr int PADDING = B_ALONG_K || Policy::READ_A == Reading::along_k ? Tile::PADDING : 0;
};

template <class Shape>
Plan plan_for(const GemmBatch& batch, int multiprocessors, bool streamed) {
  return plan(static_cast<int>(batch.count * tiles_of<Shape::BM, Shape::BN>(batch.first)),
              k_tiles_of<Shape>(batch.first), multiprocessors, streamed);
}

/// Whether tiles are divided among blocks, which takes flags.
bool has_shares(const Plan& plan) { return plan.schedule.share + plan.schedule.longer_shares > 0; }

/// How blocks of a tile compute a batch: persistent ones, or one for each tile.
struct Blocks {
  int multiprocessors;
  bool streamed;
};

template <class Tile, Reading READ_A, Reading READ_B>
void enqueue_batch(const GemmBatch& batch, const Blocks& blocks, void* workspace, cudaStream_t stream) {
  using Policy = ManyProducts<READ_A, READ_B>;
  using Shape = TileShape<Copied<Tile, Policy>>;
  Plan work = plan_for<Shape>(batch, blocks.multiprocessors, blocks.streamed);
  if (blocks.streamed) {
    const int shares = shares_of<Shape>(blocks.multiprocessors);
    SharesMemoryOf<Shape>::place(work.schedule, workspace, shares);
    if (has_shares(work)) {
      CUDA_CHECK(cudaMemsetAsync(workspace, 0, SharesMemoryOf<Shape>::sums_at(shares), stream));
    }
  }
  launch(every_shape_streamed_kernel<Shape, Policy>, work.blocks, dim3(Shape::THREADS), Shape::SMEM_BYTES, stream,
         TiledBatch{batch, static_cast<int>(tiles_of<Shape::BM, Shape::BN>(batch.first))}, work.schedule);
}

/// Whether rows of all matrices split into aligned groups of four, as far as the host knows.
bool split_into_float4(const GemmBatch& batch, const float* first, std::int64_t stride, std::int64_t columns,
                       std::int64_t ld) {
  return !batch.addresses_on_device() && (batch.count == 1 || stride % 4 == 0) &&
         rows_split_into_float4(first, columns, ld);
}

/// With the kernel for the layouts of the operands. Where none is copied in groups of four, the tile may have another
/// ring, that of Scalar.
template <class Tile, class Scalar>
void enqueue_for_layout(const GemmBatch& batch, const Blocks& blocks, void* workspace, cudaStream_t stream) {
  constexpr Reading ALONG_K = Reading::along_k;
  constexpr Reading ACROSS_K = Reading::across_k;
  constexpr Reading BY_FOUR = Reading::across_k_by_four;
  const GemmProblem& p = batch.first;
  const bool by_four = (!p.a_transposed || split_into_float4(batch, p.a, batch.stride_a, p.m, p.lda)) &&
                       (p.b_transposed || split_into_float4(batch, p.b, batch.stride_b, p.n, p.ldb));
  const auto run = p.a_transposed   ? p.b_transposed ? by_four ? enqueue_batch<Tile, BY_FOUR, ALONG_K>
                                                               : enqueue_batch<Scalar, ACROSS_K, ALONG_K>
                                      : by_four ? enqueue_batch<Tile, BY_FOUR, BY_FOUR>
                                                     : enqueue_batch<Scalar, ACROSS_K, ACROSS_K>
                     : p.b_transposed ? enqueue_batch<Scalar, ALONG_K, ALONG_K>
                   : by_four        ? enqueue_batch<Tile, ALONG_K, BY_FOUR>
                                    : enqueue_batch<Scalar, ALONG_K, ACROSS_K>;
  run(batch, blocks, workspace, stream);
}

/// Factors of a tile's cycles for each FMA, by the number of operands that are copied float by float. The chapter's own
/// kernel copies A so.
using Factors = std::array<double, 3>;

int copied_float_by_float(const GemmBatch& batch) {
  const auto copied = [&](bool along_k) { return along_k || batch.addresses_on_device() ? 1 : 0; };
  return copied(!batch.first.a_transposed) + copied(batch.first.b_transposed);
}

/// A tile with persistent blocks (`streamed`), or with one for each tile. Nothing where it does not suit.
template <class Tile, class Scalar = Tile>
std::optional<Algorithm> algorithm(const GemmBatch& batch, const Device& device, const Blocks& blocks,
                                   const Factors& factors) {
  using Shape = TileShape<Tile>;
  const auto& [multiprocessors, streamed] = blocks;
  const double k_tiles = static_cast<double>(batch.count) *
                         static_cast<double>(tiles_of<Shape::BM, Shape::BN>(batch.first)) *
                         static_cast<double>(k_tiles_of<TileShape<Scalar>>(batch.first));
  if (!suits<Shape>(batch.first, device) || k_tiles > std::numeric_limits<int>::max()) {
    return std::nullopt;
  }
  const double cycles_per_fma =
      Shape::CYCLES_PER_FMA * factors.at(static_cast<std::size_t>(copied_float_by_float(batch)));
  const Plan planned = plan_for<Shape>(batch, multiprocessors, streamed);
  const bool by_float = !batch.addresses_on_device() && !batch.operands_split_into_fours();
  const double cycles = predicted_cycles<Shape>(planned, multiprocessors, streamed, cycles_per_fma) *
                        (by_float ? STREAMED_BY_FLOAT : 1.0);
  Algorithm algorithm;
  algorithm.kernel = "09_every_shape";
  algorithm.configuration = name_of<Shape>(streamed);
  algorithm.workspace_bytes = streamed ? SharesMemoryOf<Shape>::bytes(shares_of<Shape>(multiprocessors)) : 0;
  algorithm.cost = every_shape_cost(cycles, has_shares(planned));
  algorithm.launch = [=](const GemmBatch& of, void* workspace, cudaStream_t stream) {
    enqueue_for_layout<Tile, Scalar>(of, blocks, workspace, stream);
  };
  return algorithm;
}

/// The factors were fitted to measurements on an H100: docs/lab/libsgemm.md.
constexpr Factors FACTORS_OF_128X128{0.987, 1.00, 1.03};

/// Adds a tile in both ways. One block for each tile alone would not keep to fewer multiprocessors than the device has.
template <class Tile, class Scalar = Tile>
void add(std::vector<Algorithm>& algorithms, const GemmBatch& batch, const Device& device, int multiprocessors,
         const Factors& factors) {
  for (const bool streamed : {true, false}) {
    if (!streamed && multiprocessors < device.multiprocessors) {
      continue;
    }
    if (std::optional<Algorithm> one = algorithm<Tile, Scalar>(batch, device, {multiprocessors, streamed}, factors)) {
      algorithms.push_back(*std::move(one));
    }
  }
}

/// Has CUDA load the code of kernels.
template <class Tile, class... Policies>
void load_code() {
  cudaFuncAttributes attributes{};
  (cudaFuncGetAttributes(&attributes, every_shape_streamed_kernel<TileShape<Copied<Tile, Policies>>, Policies>), ...);
}

// More cycles of the sliced kernel where B lies along k, in a launch and in each round of tiles: docs/lab/libsgemm.md.
constexpr double LAUNCH_B_ALONG_K = 1200;
constexpr double SLICED_B_ALONG_K = 300;
// And of each FMA, where A is read across k or along k.
constexpr double SLICED_B_ALONE_ALONG_K = 0.045;
constexpr double SLICED_BOTH_ALONG_K = 0.09;
/// Longer sums take longer than predicted, but for one product of matrices that are not transposed: most have few
/// tiles, and a block alone on its multiprocessor waits.
constexpr std::int64_t LONGEST_SLICED = 1024;

template <class Shape, Access ACCESS>
auto sliced_kernel_of(const GemmProblem& p) {
  return p.a_transposed   ? p.b_transposed ? every_layout_sliced_kernel<Shape, false, true, ACCESS>
                                           : every_layout_sliced_kernel<Shape, false, false, ACCESS>
           : p.b_transposed ? every_layout_sliced_kernel<Shape, true, true, ACCESS>
                          : every_layout_sliced_kernel<Shape, true, false, ACCESS>;
}

/// Adds a tile whose warps all copy and multiply, with a block for each.
template <class Tile>
void add_sliced(std::vector<Algorithm>& algorithms, const GemmBatch& batch, const Device& device, int multiprocessors) {
  using Shape = SlicedShape<Tile>;
  const std::int64_t tiles = batch.count * tiles_of<Shape::BM, Shape::BN>(batch.first);
  const GemmProblem& p = batch.first;
  const bool is_plain = batch.count == 1 && !p.a_transposed && !p.b_transposed;
  if (multiprocessors < device.multiprocessors || (p.k > LONGEST_SLICED && !is_plain) ||
      tiles > std::numeric_limits<int>::max()) {
    return;
  }
  const double b_along_k = p.b_transposed ? 1.0 : 0.0;
  const double fmas = Shape::BM * Shape::BN * static_cast<double>(p.k) / FMAS_PER_CYCLE;
  const double more =
      b_along_k * (SLICED_B_ALONG_K + fmas * (p.a_transposed ? SLICED_B_ALONE_ALONG_K : SLICED_BOTH_ALONG_K));
  const double cycles = sliced_cycles<Shape>(tiles, p.k, multiprocessors, !batch.operands_split_into_fours(), more) +
                        b_along_k * LAUNCH_B_ALONG_K;
  Algorithm algorithm;
  algorithm.kernel = "09_every_shape";
  algorithm.configuration = tile_name(Shape::BM, Shape::BN) + " sliced";
  algorithm.cost = every_shape_cost(cycles, false);
  algorithm.launch = [tiles](const GemmBatch& of, void*, cudaStream_t stream) {
    const auto kernel = of.operands_split_into_fours() ? sliced_kernel_of<Shape, Access::float4>(of.first)
                                                       : sliced_kernel_of<Shape, Access::float1>(of.first);
    launch(kernel, tiles, dim3(Shape::THREADS), SLICED_SMEM_BYTES<Shape>, stream, of);
  };
  algorithms.push_back(algorithm);
}

}  // namespace

std::vector<Algorithm> every_layout_algorithms(const GemmBatch& batch, int multiprocessors) {
  const Device device = current_device();
  std::vector<Algorithm> all;
  if (device.compute_capability >= 90) {
    add<Tile128x256>(all, batch, device, multiprocessors, {1.00, 1.015, 1.045});
    add<Tile128x128, Tile128x128Scalar>(all, batch, device, multiprocessors, FACTORS_OF_128X128);
    add<Tile64x128>(all, batch, device, multiprocessors, {0.983, 0.99, 1.08});
    add<Tile64x64>(all, batch, device, multiprocessors, {0.975, 0.995, 1.14});
    add_sliced<Sliced32x32>(all, batch, device, multiprocessors);
  }
  return all;
}

std::optional<Algorithm> algorithm_without_memory(const GemmBatch& batch) {
  const GemmProblem& p = batch.first;
  const Device device = current_device();
  if (device.compute_capability < 90 || std::max({p.m, p.n, p.k}) > std::numeric_limits<int>::max()) {
    return std::nullopt;
  }
  return algorithm<Tile128x128, Tile128x128Scalar>(batch, device, {device.multiprocessors, false}, FACTORS_OF_128X128);
}

void load_algorithm_without_memory() {
  constexpr Reading ALONG_K = Reading::along_k;
  constexpr Reading ACROSS_K = Reading::across_k;
  constexpr Reading BY_FOUR = Reading::across_k_by_four;
  load_code<Tile128x128, ManyProducts<BY_FOUR, ALONG_K>, ManyProducts<BY_FOUR, BY_FOUR>,
            ManyProducts<ALONG_K, BY_FOUR>>();
  load_code<Tile128x128Scalar, ManyProducts<ACROSS_K, ALONG_K>, ManyProducts<ACROSS_K, ACROSS_K>,
            ManyProducts<ALONG_K, ALONG_K>, ManyProducts<ALONG_K, ACROSS_K>>();
}

}  // namespace sgemm
