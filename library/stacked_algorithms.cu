// The kernels of chapters 11 and 12 for batches, with many products in a launch.

#include "algorithms.hpp"
#include "common/ceil_div.hpp"
#include "common/target.hpp"
#include "deferred_elements.cuh"
#include "engine/split_launch.cuh"
#include "engine/split_operands.cuh"
#include "engine/split_product.cuh"
#include "engine/stream_k.cuh"
#include "engine/terms_loop.cuh"
#include "gemm_problem.hpp"
#include "host/launch.cuh"
#include "predicted_time.hpp"
#include "split_algorithms.cuh"
#include "stacked_batch.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sgemm {
inline namespace SGEMM_TARGET {
namespace split_product {
namespace {

/// The store of the columns of a tile of B takes so many cycles less than the chapter's prediction says, because the
/// next operand tiles are copied meanwhile: docs/lab/libsgemm.md.
constexpr double STORE_HIDDEN = 1250;

/// A launch has as many products as need no more memory than this. Larger launches would gain next to nothing:
/// splitting so many operands takes ten times as long as what a launch takes besides.
constexpr std::size_t LARGEST_LAUNCH = std::size_t{1} << 29U;

/// Splits all A and B, and lowers the flags of the next kernel.
template <class Split, bool A_K_MAJOR, bool B_K_MAJOR>
__global__ void __launch_bounds__(SPLIT_THREADS, SPLIT_BLOCKS_PER_SM)
    stacked_split_kernel(StackedProblem p, void* workspace, Flags flags) {
  flags.lower();
  split_tile<Split>(
      p, workspace,
      [&](int tile, int k_tile, unsigned char* terms, Scaling& scaling, uint4* shared) {
        const int product = tile / p.a_tiles;
        const Operands operands(p.product(product));
        split_operand_tile_of_any_alignment<Split, A_K_MAJOR>(operands.a, tile - product * p.a_tiles, k_tile, terms,
                                                              scaling, shared);
      },
      [&](int tile, int k_tile, unsigned char* terms, Scaling& scaling, uint4* shared) {
        const int product = tile / p.b_tiles;
        const int of_product = tile - product * p.b_tiles;
        if (threadIdx.x == 0) {  // the thread that has taken the next product's tile for a neighbour
          scaling.has_next = of_product + 1 < p.b_tiles ? 1 : 0;
        }
        const Operands operands(p.product(product));
        split_operand_tile_of_any_alignment<Split, B_K_MAJOR>(operands.b, of_product, k_tile, terms, scaling, shared);
      });
}

template <class Loop, class Policy>
__global__ void __launch_bounds__(Policy::Shape::THREADS, 1)
    stacked_kernel(StackedProblem p, void* workspace, Schedule schedule) {
  multiply<Loop, Policy>(p, workspace, schedule);
}

/// One launch: how its tiles are dealt out, and its places in the workspace.
template <class Loop, class Shape>
struct StackedLaunch {
  using Split = typename Loop::Split;
  using Memory = SharesMemory<Shape::CONSUMER_WARPS, Shape::B_TILES, 64>;

  PredictedPlan planned;
  int shares;
  std::size_t operands_at;
  std::size_t deferred_at;
  std::size_t bytes;

  /// Of so many products like `p`.
  StackedLaunch(const GemmProblem& p, std::int64_t products, int multiprocessors, bool streamed)
      : planned(plan_for(p, products, multiprocessors, streamed)), shares(streamed ? multiprocessors : 0) {
    GemmBatch batch{p};
    batch.count = products;
    operands_at = streamed ? Memory::bytes(shares) : 0;
    deferred_at = operands_at + Workspace<Split>(StackedProblem(batch, nullptr), nullptr).bytes();
    bytes = deferred_at + Deferred::bytes(products * tiles_of_c(p));
  }

  void enqueue(const GemmBatch& batch, void* workspace, cudaStream_t stream) const {
    char* const memory = static_cast<char*>(workspace);
    Plan work = planned;
    Memory::place(work.schedule, workspace, shares);
    void* const operands = memory + operands_at;
    const StackedProblem stacked(batch, memory + deferred_at);
    const auto split = kernel_for_layout(batch.first, [](auto a, auto b) { return stacked_split_kernel<Split, a, b>; });
    launch(split, Workspace<Split>(stacked, nullptr).count(), dim3(SPLIT_THREADS), 0, stream, stacked, operands,
           Flags{work.schedule.flags, shares * Shape::CONSUMER_WARPS});
    launch_dependent(stacked_kernel<Loop, ManyGemms<Shape>>, work.blocks, dim3(Shape::THREADS),
                     Rings<Split>::SMEM_BYTES, stream, stacked, operands, work.schedule);
  }

 private:
  /// That of a problem with as many tiles.
  static PredictedPlan plan_for(const GemmProblem& p, std::int64_t products, int multiprocessors, bool streamed) {
    Problem tall = p;
    tall.m = products * tiles_along(p.m) * TILE_ROWS;
    PredictedPlan plan =
        streamed ? plan_streamed<Shape>(tall, multiprocessors) : plan_whole<Shape>(tall, multiprocessors);
    const std::int64_t rounds = tile_count<Shape>(tall) / plan.blocks;  // in which the next tile follows
    plan.cycles -=
        STORE_HIDDEN * static_cast<double>(rounds * std::min<std::int64_t>(Shape::B_TILES, tiles_along(p.n)));
    return plan;
  }
};

/// With at most `products` products in a launch.
template <class Loop, class Shape>
Algorithm algorithm(const char* kernel, const Splitting& splitting, const GemmBatch& batch, std::int64_t products,
                    int multiprocessors, bool streamed) {
  const GemmProblem& p = batch.first;
  Algorithm algorithm;
  algorithm.launches = ceil_div(batch.count, products);
  const std::int64_t of_last = batch.count - (algorithm.launches - 1) * products;
  const StackedLaunch<Loop, Shape> each(p, products, multiprocessors, streamed);
  const StackedLaunch<Loop, Shape> last(p, of_last, multiprocessors, streamed);
  algorithm.kernel = kernel;
  algorithm.configuration = tile_name(Shape::BM, Shape::BN, streamed) + " stacked";
  algorithm.workspace_bytes = std::max(each.bytes, last.bytes);
  algorithm.cost = split_cost(splitting, {p.m, p.n, p.k, multiprocessors}, batch.count, algorithm.launches,
                              static_cast<double>(algorithm.launches - 1) * each.planned.cycles + last.planned.cycles);
  algorithm.kernels = 2;
  algorithm.launch = [=](const GemmBatch& of, void* workspace, cudaStream_t stream) {
    std::int64_t index = 0;
    for (; index + products < of.count; index += products) {
      each.enqueue(of.part(index, products), workspace, stream);
    }
    last.enqueue(of.part(index, of.count - index), workspace, stream);
  };
  return algorithm;
}

template <class Loop>
std::vector<Algorithm> stacked_algorithms(const char* kernel, const Splitting& splitting, const GemmBatch& batch,
                                          int multiprocessors) {
  using Split = typename Loop::Split;
  std::vector<Algorithm> all;
  const GemmProblem& p = batch.first;
  if (!can_run<Split>(p)) {
    return all;
  }
  const std::size_t bytes = StackedLaunch<Loop, Tile128x128<Split>>(p, 1, multiprocessors, false).bytes;
  const auto fit = std::clamp<std::int64_t>(static_cast<std::int64_t>(LARGEST_LAUNCH / bytes), 1, batch.count);
  const std::int64_t most = ceil_div(batch.count, ceil_div(batch.count, fit));  // so that launches are about equal
  std::vector<std::int64_t> sizes{most};
  if (batch.addresses_on_device() && most > 1) {
    sizes.push_back(1);  // for small workspaces, because no other algorithm computes one product after the other
  }
  for (const std::int64_t products : sizes) {
    for (const bool streamed : {false, true}) {
      all.push_back(algorithm<Loop, Tile128x128<Split>>(kernel, splitting, batch, products, multiprocessors, streamed));
      all.push_back(algorithm<Loop, Tile128x256<Split>>(kernel, splitting, batch, products, multiprocessors, streamed));
    }
  }
  return all;
}

}  // namespace
}  // namespace split_product
}  // namespace SGEMM_TARGET

std::vector<Algorithm> stacked_bf16x6_algorithms(const GemmBatch& batch, int multiprocessors) {
  return split_product::stacked_algorithms<split_product::Bf16x6Loop>("11_bf16x6", BF16X6_SPLITTING, batch,
                                                                      multiprocessors);
}

std::vector<Algorithm> stacked_fp16x3_algorithms(const GemmBatch& batch, int multiprocessors) {
  return split_product::stacked_algorithms<split_product::Fp16x3Loop>("12_fp16x3", FP16X3_SPLITTING, batch,
                                                                      multiprocessors);
}

}  // namespace sgemm
