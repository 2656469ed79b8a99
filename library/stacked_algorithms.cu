// The kernels of chapters 11 and 12 for batches, with many products in a launch.

#include "algorithms.hpp"
#include "common/target.hpp"
#include "deferred_elements.cuh"
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

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sgemm {
namespace SGEMM_TARGET::split_product {
namespace {

/// The store of a tile takes so many cycles less than the chapter's prediction says, because the next operand tiles are
/// copied meanwhile: docs/lab/libsgemm.md.
constexpr double STORE_HIDDEN = 1250;

/// The product that an operand tile belongs to, each of which has so many. Leaves the tile's number in its product.
__device__ __forceinline__ DeferringProblem product_of_tile(const StackedProblem& p, int tiles, TileToSplit& to) {
  const int product = to.tile / tiles;
  to.tile -= product * tiles;
  return p.product(product);
}

/// Splits all A and B, and lowers the flags of the next kernel.
template <class Split, bool A_K_MAJOR, bool B_K_MAJOR>
__global__ void __launch_bounds__(SPLIT_THREADS, SPLIT_BLOCKS_PER_SM)
    stacked_split_kernel(StackedProblem p, void* workspace, Flags flags) {
  flags.lower();
  split_tile<Split>(
      p, workspace,
      [&](TileToSplit to) {
        const Operands operands(product_of_tile(p, p.a_tiles, to));
        split_operand_tile_of_any_alignment<Split, A_K_MAJOR>(operands.a, to);
      },
      [&](TileToSplit to) {
        const Operands operands(product_of_tile(p, p.b_tiles, to));
        split_operand_tile_of_any_alignment<Split, B_K_MAJOR>(operands.b, to);
      });
}

template <class Loop>
__global__ void __launch_bounds__(Tile128x128<typename Loop::Split>::THREADS, 1)
    stacked_kernel(StackedProblem p, void* workspace, Schedule schedule) {
  using Split = typename Loop::Split;
  using Policy = ManyGemms<Split>;
  Policy::before_first_tile();
  produce_and_consume<Policy>(p, Workspace<Split>(p, workspace), schedule, [&](const Rings<Split>& rings) {
    Loop::template consume<Policy>(p, schedule, rings);
    Policy::after_last_tile(p, schedule);
  });
}

/// One launch of so many products like `p`.
template <class Loop>
struct StackedLaunch {
  using Split = typename Loop::Split;
  using Shape = Tile128x128<Split>;

  LaunchMemory<SharesMemory<Shape::CONSUMER_WARPS, Shape::B_TILES, 64>> memory;

  StackedLaunch(const GemmProblem& p, std::int64_t products, int multiprocessors, bool streamed)
      : memory(plan_for(p, products, multiprocessors, streamed), streamed ? multiprocessors : 0,
               Workspace<Split>(StackedProblem(GemmBatch{p, 0, 0, 0, products}, nullptr), nullptr).bytes(),
               products * tiles_of_c(p)) {}

  void enqueue(const GemmBatch& batch, void* workspace, cudaStream_t stream) const {
    const auto work = memory.in(workspace);
    void* const operands = work.operands;
    const StackedProblem stacked(batch, work.deferred);
    const auto split = kernel_for_layout(batch.first, [](auto a, auto b) { return stacked_split_kernel<Split, a, b>; });
    launch(split, Workspace<Split>(stacked, nullptr).count(), dim3(SPLIT_THREADS), 0, stream, stacked, operands,
           work.flags);
    launch_dependent(stacked_kernel<Loop>, work.blocks, dim3(Shape::THREADS), Rings<Split>::SMEM_BYTES, stream, stacked,
                     operands, work.schedule);
  }

 private:
  /// That of a problem with as many tiles.
  static PredictedPlan plan_for(const GemmProblem& p, std::int64_t products, int multiprocessors, bool streamed) {
    Problem tall = p;
    tall.m = products * tiles_along(p.m) * TILE_ROWS;
    PredictedPlan planned = plan<Shape>(tall, multiprocessors, streamed);
    const std::int64_t rounds = tile_count<Shape>(tall) / planned.blocks;  // in which the next tile follows
    planned.cycles -= STORE_HIDDEN * static_cast<double>(rounds);
    return planned;
  }
};

template <class Loop>
std::vector<Algorithm> stacked_algorithms(const char* kernel, const Splitting& splitting, const GemmBatch& batch,
                                          int multiprocessors) {
  using Split = typename Loop::Split;
  std::vector<Algorithm> all;
  const GemmProblem& p = batch.first;
  if (!can_run<Split>(p)) {
    return all;
  }
  const std::size_t bytes = StackedLaunch<Loop>(p, 1, multiprocessors, false).memory.bytes;
  std::vector<Parts> ways{Parts(batch.count, static_cast<std::int64_t>(Parts::LARGEST / bytes))};
  if (batch.addresses_on_device() && ways.front().products > 1) {
    ways.emplace_back(batch.count, 1);  // for small workspaces: no other algorithm computes one product after the other
  }
  for (const Parts& parts : ways) {
    for (const bool streamed : {false, true}) {
      all.push_back(in_parts(kernel, tile_name(TILE_ROWS, TILE_ROWS, streamed) + " stacked", splitting,
                             {p.m, p.n, p.k, multiprocessors}, batch.count, parts, [&](std::int64_t products) {
                               return StackedLaunch<Loop>(p, products, multiprocessors, streamed);
                             }));
    }
  }
  return all;
}

}  // namespace
}  // namespace SGEMM_TARGET::split_product

std::vector<Algorithm> stacked_bf16x6_algorithms(const GemmBatch& batch, int multiprocessors) {
  return split_product::stacked_algorithms<split_product::Bf16x6Loop>("11_bf16x6", BF16X6_SPLITTING, batch,
                                                                      multiprocessors);
}

std::vector<Algorithm> stacked_fp16x3_algorithms(const GemmBatch& batch, int multiprocessors) {
  return split_product::stacked_algorithms<split_product::Fp16x3Loop>("12_fp16x3", FP16X3_SPLITTING, batch,
                                                                      multiprocessors);
}

}  // namespace sgemm
