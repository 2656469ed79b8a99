// Chapter 11's arithmetic for products whose C has few columns or few rows, with A split where it is multiplied.

#include "algorithms.hpp"
#include "common/ceil_div.hpp"
#include "common/target.hpp"
#include "engine/cost_model.cuh"
#include "engine/split_configurations.cuh"
#include "engine/split_launch.cuh"
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
inline namespace SGEMM_TARGET {
namespace split_product {
namespace {

// The constants of the prediction, in cycles of the full clock, were fitted to measurements on an H200:
// docs/lab/libsgemm.md. Those for 128 columns are smaller in proportion where there are fewer.
constexpr double TALL_K_TILE = 1870;      // to copy and split a k-tile of A
constexpr double TALL_MULTIPLY = 2650;    // to multiply it
constexpr double TALL_STORE = 1790;       // accumulators, to C or to the workspace
constexpr double TALL_FIRST_TILE = 3550;  // until the first operands of a tile are there, whatever the columns
constexpr double TALL_ADD = 1310;         // partial sums from the workspace
constexpr double TALL_BY_FLOATS = 1.4;    // times as long, where lines of A do not split into groups of four

/// A launch has as many products as need no more memory than this.
constexpr std::size_t LARGEST_TALL_LAUNCH = std::size_t{1} << 29U;

/// Splits the B of all products, and lowers the flags of the next kernel.
template <bool B_K_MAJOR>
__global__ void __launch_bounds__(SPLIT_THREADS, SPLIT_BLOCKS_PER_SM)
    narrow_split_kernel(TallProblem p, void* workspace, Flags flags) {
  flags.lower();
  split_tile<NarrowBf16x6>(
      p, workspace, [](int, int, unsigned char*, Scaling&, uint4*) {},  // there is no A
      [&](int product, int k_tile, unsigned char* terms, Scaling& scaling, uint4* shared) {
        split_operand_tile_of_any_alignment<NarrowBf16x6, B_K_MAJOR>(Operands(p.product(product)).b, 0, k_tile, terms,
                                                                     scaling, shared);
      });
}

template <class Shape, bool A_K_MAJOR>
__global__ void __launch_bounds__(Shape::THREADS, 1) tall_kernel(TallProblem p, void* workspace, Schedule schedule) {
  multiply_tall<Shape, A_K_MAJOR>(p, workspace, schedule);
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
  PredictedPlan best = with(0, tiles);
  const auto most =
      static_cast<int>(std::min<std::int64_t>(multiprocessors, static_cast<std::int64_t>(tiles) * k_tiles));
  for (int blocks = tiles + 1; blocks <= most; ++blocks) {
    const PredictedPlan other = with(0, blocks);
    best = other.cycles < best.cycles ? other : best;
  }
  return best;
}

/// One launch: how its tiles are dealt out, and its places in the workspace.
template <class Shape>
struct TallLaunch {
  using Memory = SharesMemory<Shape::CONSUMER_WARPS, 1, Shape::VALUES>;

  PredictedPlan planned;
  int shares;
  std::size_t operands_at;
  std::size_t deferred_at;
  std::size_t bytes;

  /// Of so many products like `p`, whose C is tall.
  TallLaunch(const GemmProblem& p, std::int64_t products, int multiprocessors)
      : planned(tall_plan<Shape>(static_cast<int>(products * tiles_along(p.m)), static_cast<int>(k_tiles_of<Bf16x6>(p)),
                                 multiprocessors)),
        shares(multiprocessors),
        operands_at(Memory::bytes(multiprocessors)) {
    GemmBatch batch{p};
    batch.count = products;
    deferred_at = operands_at + Workspace<Bf16x6>(TallProblem(batch, false, nullptr), nullptr).bytes();
    bytes = deferred_at + Deferred::bytes(products * tiles_along(p.m));
  }

  void enqueue(const GemmBatch& tall, bool c_transposed, void* workspace, cudaStream_t stream) const {
    char* const memory = static_cast<char*>(workspace);
    Plan work = planned;
    Memory::place(work.schedule, workspace, shares);
    void* const operands = memory + operands_at;
    const TallProblem p(tall, c_transposed, memory + deferred_at);
    launch(tall.first.b_transposed ? narrow_split_kernel<true> : narrow_split_kernel<false>,
           Workspace<Bf16x6>(p, nullptr).count(), dim3(SPLIT_THREADS), 0, stream, p, operands,
           Flags{work.schedule.flags, shares * Shape::CONSUMER_WARPS});
    if (tall.first.a_transposed) {
      launch_dependent(tall_kernel<Shape, false>, work.blocks, dim3(Shape::THREADS),
                       TallRings<Shape, false>::SMEM_BYTES, stream, p, operands, work.schedule);
    } else {
      launch_dependent(tall_kernel<Shape, true>, work.blocks, dim3(Shape::THREADS), TallRings<Shape, true>::SMEM_BYTES,
                       stream, p, operands, work.schedule);
    }
  }
};

template <class Shape>
Algorithm algorithm(const GemmBatch& tall, bool c_transposed, int multiprocessors) {
  const GemmProblem& p = tall.first;
  const std::size_t bytes_of_one =
      TallLaunch<Shape>(p, 2, multiprocessors).bytes - TallLaunch<Shape>(p, 1, multiprocessors).bytes;
  const auto fit =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(LARGEST_TALL_LAUNCH / bytes_of_one), 1, tall.count);
  const std::int64_t products = ceil_div(tall.count, ceil_div(tall.count, fit));  // so that launches are about equal
  Algorithm algorithm;
  algorithm.launches = ceil_div(tall.count, products);
  const std::int64_t of_last = tall.count - (algorithm.launches - 1) * products;
  const TallLaunch<Shape> each(p, products, multiprocessors);
  const TallLaunch<Shape> last(p, of_last, multiprocessors);
  algorithm.kernel = "11_bf16x6";
  algorithm.configuration = tile_name(Shape::BM, Shape::COLUMNS) + (c_transposed ? " flat" : " tall");
  algorithm.workspace_bytes = std::max(each.bytes, last.bytes);
  // Before the product, only B is split.
  algorithm.cost = split_cost(TALL_BF16X6_SPLITTING, {0, p.n, p.k, multiprocessors}, tall.count, algorithm.launches,
                              static_cast<double>(algorithm.launches - 1) * each.planned.cycles + last.planned.cycles);
  algorithm.cost.streamed =
      static_cast<double>(sizeof(float) * tall.count) * static_cast<double>(p.m) * static_cast<double>(p.k);
  if (!tall.addresses_on_device() && !rows_split_into_float4(p.a, p.a_transposed ? p.m : p.k, p.lda)) {
    algorithm.cost.cycles *= TALL_BY_FLOATS;
    algorithm.cost.streamed *= TALL_BY_FLOATS;
  }
  algorithm.kernels = 2;
  algorithm.launch = [=](const GemmBatch& of, void* workspace, cudaStream_t stream) {
    const GemmBatch batch = c_transposed ? transposed(of) : of;
    std::int64_t index = 0;
    for (; index + products < batch.count; index += products) {
      each.enqueue(batch.part(index, products), c_transposed, workspace, stream);
    }
    last.enqueue(batch.part(index, batch.count - index), c_transposed, workspace, stream);
  };
  return algorithm;
}

}  // namespace
}  // namespace split_product
}  // namespace SGEMM_TARGET

std::vector<Algorithm> tall_bf16x6_algorithms(const GemmBatch& batch, int multiprocessors) {
  using namespace split_product;
  const bool flat = batch.first.m < batch.first.n;
  const GemmBatch tall = flat ? transposed(batch) : batch;
  const GemmProblem& p = tall.first;
  const auto k_tiles = static_cast<double>(k_tiles_of<Bf16x6>(p));
  // algorithm() looks at two products even where there is one.
  const auto products = static_cast<double>(std::max<std::int64_t>(tall.count, 2));
  if (p.n > TILE_ROWS || !can_run<Bf16x6>(TallProblem(tall, flat, nullptr)) ||
      products * static_cast<double>(tiles_along(p.m)) * k_tiles > std::numeric_limits<int>::max()) {
    return {};
  }
  return {p.n <= 32   ? algorithm<TallShape<32>>(tall, flat, multiprocessors)
          : p.n <= 64 ? algorithm<TallShape<64>>(tall, flat, multiprocessors)
                      : algorithm<TallShape<128>>(tall, flat, multiprocessors)};
}

}  // namespace sgemm
