// Chapter 11's arithmetic for products whose C has few columns or few rows, with A split where it is multiplied.

#include "algorithms.hpp"
#include "common/target.hpp"
#include "engine/cost_model.cuh"
#include "engine/split_configurations.cuh"
#include "engine/split_operands.cuh"
#include "engine/split_product.cuh"
#include "engine/stream_k.cuh"
#include "gemm_problem.hpp"
#include "host/launch.cuh"
#include "predicted_time.hpp"
#include "split_algorithms.cuh"
#include "tall_product.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace sgemm {
namespace SGEMM_TARGET::split_product {
namespace {

// The constants of the prediction, in cycles of the full clock, were fitted to measurements on an H200:
// docs/lab/libsgemm.md. Those for 128 columns are smaller in proportion where there are fewer.
constexpr double TALL_K_TILE = 1870;      // to copy and split a k-tile of A
constexpr double TALL_MULTIPLY = 2650;    // to multiply it
constexpr double TALL_STORE = 1790;       // accumulators, to C or to the workspace
constexpr double TALL_FIRST_TILE = 3550;  // until the first operands of a tile are there, whatever the columns
constexpr double TALL_ADD = 1310;         // partial sums from the workspace
constexpr double TALL_BY_FLOATS = 1.4;    // times as long, where lines of A do not split into groups of four

/// Splits the B of all products, and lowers the flags of the next kernel.
template <class Shape, bool B_K_MAJOR>
__global__ void __launch_bounds__(SPLIT_THREADS) narrow_split_kernel(TallProblem p, unsigned char* terms, Flags flags) {
  griddepcontrol_launch_dependents();
  flags.lower();
  split_narrow<Shape, B_K_MAJOR>(p, terms);
}

template <class Shape, bool A_K_MAJOR>
__global__ void __launch_bounds__(Shape::THREADS, 1)
    tall_kernel(TallProblem p, const unsigned char* b_terms, Schedule schedule) {
  multiply_tall<Shape, A_K_MAJOR>(p, b_terms, schedule);
}

template <class Shape>
PredictedPlan tall_plan(int tiles, int k_tiles, int multiprocessors) {
  constexpr double PART = static_cast<double>(Shape::COLUMNS) / TILE_ROWS;
  constexpr TileCost COST{TALL_K_TILE + TALL_MULTIPLY * PART, TALL_FIRST_TILE + TALL_STORE * PART, TALL_ADD * PART};
  const auto with = [&](int whole, int blocks) -> PredictedPlan {
    const Plan plan{Schedule::of(tiles, k_tiles, whole, blocks), blocks};
    return {plan, whole_tiles_cycles(plan, COST) + share_cycles(plan, COST)};
  };
  if (tiles > multiprocessors) {
    const int rest = tiles % multiprocessors;
    return with(rest == 0 ? tiles : tiles - rest - multiprocessors, multiprocessors);
  }
  return fastest_shares(tiles, std::int64_t{tiles} * k_tiles, multiprocessors,
                        [&](int blocks) { return with(0, blocks); });
}

/// One launch of so many products like `p`, whose C is tall, or was before it was transposed.
template <class Shape>
struct TallLaunch {
  LaunchMemory<SharesMemory<Shape::CONSUMER_WARPS, 1, Shape::VALUES>> memory;
  bool c_transposed;

  TallLaunch(const GemmProblem& p, bool transposes, std::int64_t products, int multiprocessors)
      : memory(tall_plan<Shape>(static_cast<int>(products * tiles_along(p.m)), static_cast<int>(k_tiles_of<Bf16x6>(p)),
                                multiprocessors),
               multiprocessors,
               static_cast<std::size_t>(products * k_tiles_of<Bf16x6>(p) * NarrowTile<Shape::COLUMNS>::BYTES),
               products * tiles_along(p.m)),
        c_transposed(transposes) {}

  void enqueue(const GemmBatch& batch, void* workspace, cudaStream_t stream) const {
    const GemmBatch tall = c_transposed ? transposed(batch) : batch;
    const auto work = memory.in(workspace);
    auto* const b_terms = reinterpret_cast<unsigned char*>(work.operands);
    const TallProblem p(tall, c_transposed, work.deferred);
    const std::int64_t groups = tall.count * p.k_tiles * (Shape::COLUMNS * GROUPS);
    launch(tall.first.b_transposed ? narrow_split_kernel<Shape, true> : narrow_split_kernel<Shape, false>,
           ceil_div<std::int64_t>(groups, SPLIT_THREADS), dim3(SPLIT_THREADS), 0, stream, p, b_terms, work.flags);
    if (tall.first.a_transposed) {
      launch_dependent(tall_kernel<Shape, false>, work.blocks, dim3(Shape::THREADS),
                       TallRings<Shape, false>::SMEM_BYTES, stream, p, b_terms, work.schedule);
    } else {
      launch_dependent(tall_kernel<Shape, true>, work.blocks, dim3(Shape::THREADS), TallRings<Shape, true>::SMEM_BYTES,
                       stream, p, b_terms, work.schedule);
    }
  }
};

template <class Shape>
Algorithm algorithm(const GemmBatch& tall, bool c_transposed, int multiprocessors) {
  const GemmProblem& p = tall.first;
  const auto launch_of = [&](std::int64_t products) {
    return TallLaunch<Shape>(p, c_transposed, products, multiprocessors);
  };
  const std::size_t bytes_of_one = launch_of(2).memory.bytes - launch_of(1).memory.bytes;
  // Before the product, only B is split.
  Algorithm algorithm =
      in_parts("11_bf16x6", tile_name(Shape::BM, Shape::COLUMNS) + (c_transposed ? " flat" : " tall"),
               TALL_BF16X6_SPLITTING, {0, p.n, p.k, multiprocessors}, tall.count,
               Parts(tall.count, static_cast<std::int64_t>(Parts::LARGEST / bytes_of_one)), launch_of);
  algorithm.cost.streamed =
      static_cast<double>(sizeof(float) * tall.count) * static_cast<double>(p.m) * static_cast<double>(p.k);
  if (!tall.addresses_on_device() && !tall.a_splits_into_fours()) {
    algorithm.cost.cycles *= TALL_BY_FLOATS;
    algorithm.cost.streamed *= TALL_BY_FLOATS;
  }
  return algorithm;
}

}  // namespace
}  // namespace SGEMM_TARGET::split_product

std::vector<Algorithm> tall_bf16x6_algorithms(const GemmBatch& batch, int multiprocessors) {
  using namespace split_product;
  const bool flat = batch.first.m < batch.first.n;
  const GemmBatch tall = flat ? transposed(batch) : batch;
  const GemmProblem& p = tall.first;
  const auto k_tiles = static_cast<double>(k_tiles_of<Bf16x6>(p));
  // algorithm() looks at two products even where there is one.
  const auto products = static_cast<double>(std::max<std::int64_t>(tall.count, 2));
  if (p.n > TILE_ROWS || !can_run<Bf16x6>(p) ||
      products * static_cast<double>(tiles_along(p.m)) * k_tiles > std::numeric_limits<int>::max()) {
    return {};
  }
  return {p.n <= 32   ? algorithm<TallShape<32>>(tall, flat, multiprocessors)
          : p.n <= 64 ? algorithm<TallShape<64>>(tall, flat, multiprocessors)
                      : algorithm<TallShape<128>>(tall, flat, multiprocessors)};
}

}  // namespace sgemm
