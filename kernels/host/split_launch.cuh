#pragma once

// FP32 products on 16-bit tensor cores (sm_90a): the division of a problem among blocks, and the launch of the two
// kernels. Chapters 11 and 12 differ by their scheme: the number and format of the terms, and the products of terms
// that count. Chapter 11 explains this code.

#include "common/ceil_div.hpp"
#include "common/problem.hpp"
#include "engine/split_operands.cuh"
#include "engine/split_product.cuh"
#include "engine/stream_k.cuh"
#include "host/alignment.hpp"
#include "host/cost_model.cuh"
#include "host/kernel.hpp"
#include "host/launch.cuh"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace sgemm {
inline namespace SGEMM_TARGET {
namespace split_product {

/// The kernels of a chapter, which carry its name.
template <class Scheme>
struct Kernels {
  void (*split)(Problem, void*);
  void (*split_scalar)(Problem, void*);           ///< where rows of A do not split into aligned groups of four
  void (*wide)(Problem, void*, Schedule);         ///< Tile128x256
  void (*wide_scalar)(Problem, void*, Schedule);  ///< where rows of C do not split into aligned pairs
  void (*narrow)(Problem, void*, Schedule);       ///< Tile128x128
  void (*narrow_scalar)(Problem, void*, Schedule);
};

// The constants of the prediction, in cycles, were fitted to measurements on an H200: docs/lab/11-split-products.md.
constexpr double MULTIPLIED_PER_CYCLE = 2048 * 0.93;  // numbers of 16 bits
constexpr double NARROW = 1.05;  // factor of the time of a product in tiles of half the width: a third more is copied
// Blocks that are at different k share less in the L2. These are factors of the time of a product
constexpr double STRAYING_NARROW = 1.10;  // in tiles of half the width,
constexpr double STRAYING_LARGE = 1.20;   // or where C has more tiles than there are multiprocessors.
// SMs without a tile in the last round leave their power to the others. This is a factor of the time of whole tiles.
constexpr double IDLE = 0.98;
constexpr double STORE = 6500;  // accumulators of a tile of B, to C or to the workspace
constexpr double ADD = 1200;    // partial sums of a tile of B, from the workspace
constexpr double FLAG = 1800;   // additional cycles of each share of a tile

template <class Shape>
double predicted_cycles(const Problem& p, const Plan& plan, int tiles) {
  const Schedule& schedule = plan.schedule;
  const auto b_tiles = static_cast<double>(std::min<std::int64_t>(Shape::B_TILES, tiles_along(p.n)));
  const bool narrow = Shape::B_TILES == 1 && tiles_along(p.n) > 1;
  const int longest_share = schedule.share + (schedule.longer_shares > 0 ? 1 : 0);
  TileCost tile{};
  // A k-tile of 8-bit integers has twice as many of them, which go twice as fast.
  tile.k_tile =
      b_tiles * TILE_ROWS * TILE_ROWS * BK * Shape::Scheme::PRODUCTS / MULTIPLIED_PER_CYCLE * (narrow ? NARROW : 1.0);
  tile.store = STORE * b_tiles;
  tile.add = ADD * b_tiles + FLAG;
  tile.straying = longest_share > schedule.k_tiles ? STRAYING_LARGE : narrow ? STRAYING_NARROW : 1.0;
  return schedule.whole == tiles ? whole_tiles_cycles(plan, tile) * IDLE
                                 : whole_tiles_cycles(plan, tile) + share_cycles(plan, tile);
}

/// A plan and its prediction.
struct PredictedPlan : Plan {
  double cycles;
};

/// For `blocks` blocks, with tiles from number `whole` on divided along k.
template <class Shape>
PredictedPlan plan(const Problem& p, int tiles, int whole, int blocks) {
  const Plan plan{Schedule::of(tiles, static_cast<int>(k_tiles_of<typename Shape::Scheme>(p)), whole, blocks), blocks};
  return {plan, predicted_cycles<Shape>(p, plan, tiles)};
}

/// The plan in which one block computes each tile. It has no more blocks than finish in the same time, because these
/// make better use of the power that the others would take.
template <class Shape>
PredictedPlan plan_whole(const Problem& p, int multiprocessors) {
  const auto tiles = static_cast<int>(tile_count<Shape>(p));
  const int rounds = ceil_div(tiles, multiprocessors);
  return plan<Shape>(p, tiles, tiles, ceil_div(tiles, rounds));
}

/// The plan in which tiles that do not fill all multiprocessors evenly are divided along k. If there is less than one
/// tile for each, every block has a share. Fewer blocks have one if collecting the sums would take longer than
/// computing them.
template <class Shape>
PredictedPlan plan_streamed(const Problem& p, int multiprocessors) {
  const auto tiles = static_cast<int>(tile_count<Shape>(p));
  const int rest = tiles % multiprocessors;
  if (tiles > multiprocessors) {
    const int streamed = rest == 0 ? 0 : 2 * rest > multiprocessors ? rest + multiprocessors : rest;
    return plan<Shape>(p, tiles, tiles - streamed, multiprocessors);
  }
  PredictedPlan best = plan<Shape>(p, tiles, 0, tiles);
  const auto most =
      static_cast<int>(std::min<std::int64_t>(multiprocessors, tiles * k_tiles_of<typename Shape::Scheme>(p)));
  for (int blocks = tiles + 1; blocks <= most; ++blocks) {
    const PredictedPlan other = plan<Shape>(p, tiles, 0, blocks);
    best = other.cycles < best.cycles ? other : best;
  }
  return best;
}

template <class Shape>
Candidate candidate(const Problem& p, const Kernels<typename Shape::Scheme>& kernels, int multiprocessors,
                    bool streamed) {
  using Scheme = typename Shape::Scheme;
  using Memory = SharesMemory<Shape::CONSUMER_WARPS, Shape::B_TILES, 64>;
  constexpr bool WIDE = Shape::B_TILES == 2;
  const auto plan_for = streamed ? plan_streamed<Shape> : plan_whole<Shape>;
  const PredictedPlan planned = plan_for(p, multiprocessors);
  const std::size_t operands_at = streamed ? Memory::bytes(multiprocessors) : 0;
  const auto run = [=, p_k = p.k](const Problem& problem, void* workspace, cudaStream_t stream) {
    Plan work = problem.k == p_k ? planned : plan_for(problem, multiprocessors);  // k may have become 0
    Memory::place(work.schedule, workspace, multiprocessors);
    void* const operands = static_cast<char*>(workspace) + operands_at;
    const bool vector_access = rows_split_into_float4(problem.a, problem.k, problem.lda);
    launch(vector_access ? kernels.split : kernels.split_scalar, Workspace<Scheme>(problem, nullptr).count(),
           dim3(SPLIT_THREADS), 0, stream, problem, operands);
    const bool pairs = rows_split_into_float2(problem.c, problem.n, problem.ldc);
    launch_dependent(pairs  ? WIDE ? kernels.wide : kernels.narrow
                     : WIDE ? kernels.wide_scalar
                            : kernels.narrow_scalar,
                     work.blocks, dim3(Shape::THREADS), Rings<Scheme>::SMEM_BYTES, stream, problem, operands,
                     work.schedule);
  };
  return {{tile_name(Shape::BM, Shape::BN, streamed), operands_at + Workspace<Scheme>(p, nullptr).bytes(), run},
          planned.cycles};
}

/// The configurations: tiles of 128x256 and of 128x128, whole and divided along k. The one with the shortest predicted
/// time comes first.
template <class Scheme>
std::vector<Configuration> configurations(const Problem& p, const Kernels<Scheme>& kernels) {
  const int multiprocessors = current_device().multiprocessors;
  std::vector<Candidate> candidates;
  for (const bool streamed : {false, true}) {
    candidates.push_back(candidate<Tile128x128<Scheme>>(p, kernels, multiprocessors, streamed));
    candidates.push_back(candidate<Tile128x256<Scheme>>(p, kernels, multiprocessors, streamed));
  }
  return fastest_first(std::move(candidates), std::numeric_limits<double>::infinity());
}

}  // namespace split_product
}  // namespace SGEMM_TARGET
}  // namespace sgemm
