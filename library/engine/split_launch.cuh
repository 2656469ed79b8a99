#pragma once

// FP32 products on 16-bit tensor cores (sm_90a): the division of a problem among blocks, for the library's kernels.

#include "common/ceil_div.hpp"
#include "common/problem.hpp"
#include "engine/cost_model.cuh"
#include "engine/split_operands.cuh"
#include "engine/split_product.cuh"
#include "engine/stream_k.cuh"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace sgemm::SGEMM_TARGET::split_product {

// The constants of the prediction, in cycles, were fitted to measurements on an H200: docs/lab/11-split-products.md.
constexpr double MULTIPLIED_PER_CYCLE = 2048 * 0.93;  // numbers of 16 bits
constexpr double NARROW = 1.05;  // factor of the time of a product in tiles of half the width: a third more is copied
// Blocks that are at different k share less in the L2. These are factors of the time of a product
constexpr double SPLIT_K_PENALTY_NARROW = 1.10;  // in tiles of half the width,
constexpr double SPLIT_K_PENALTY_LARGE = 1.20;   // or where C has more tiles than there are multiprocessors.
// Blocks that share all tiles are at different k. Where the L2 holds no more than half of the terms of both operands,
// they read this part of what they multiply from memory. It was fitted to an H100.
constexpr double LARGE_OPERANDS = 100e6;
constexpr double FROM_MEMORY = 0.65;
// Blocks have more or fewer steps with residuals, and wait for one another. The factor of their time, and the part that
// large products read from memory, were fitted to an H100: docs/lab/libsgemm.md.
constexpr double UNEVEN = 1.3;
constexpr double RESIDUALS_FROM_MEMORY = 0.8;
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
      b_tiles * TILE_ROWS * TILE_ROWS * BK * Shape::Split::PRODUCTS / MULTIPLIED_PER_CYCLE * (narrow ? NARROW : 1.0);
  tile.store = STORE * b_tiles;
  tile.add = ADD * b_tiles + FLAG;
  tile.split_k_penalty = longest_share > schedule.k_tiles ? SPLIT_K_PENALTY_LARGE
                         : narrow                         ? SPLIT_K_PENALTY_NARROW
                                                          : 1.0;
  return schedule.whole == tiles ? whole_tiles_cycles(plan, tile) * IDLE
                                 : whole_tiles_cycles(plan, tile) + share_cycles(plan, tile);
}

/// The bytes that a product reads from memory because its blocks are at different k.
template <class Shape>
double strayed_bytes(const Problem& p, const Plan& plan, int tiles) {
  using Split = typename Shape::Split;
  constexpr double TILE = OperandTile<Split>::BYTES;
  const double k_tiles = plan.schedule.k_tiles;
  const bool is_large = static_cast<double>(tiles_along(p.m) + tiles_along(p.n)) * k_tiles * TILE > LARGE_OPERANDS;
  const bool has_several = p.m > Shape::BM && p.n > Shape::BN;  // rows and columns of tiles
  return plan.schedule.whole == 0 && plan.blocks > tiles && is_large && has_several
             ? FROM_MEMORY * tiles * k_tiles * (1 + Shape::B_TILES) * TILE
             : 0.0;
}

/// The bytes that products with residuals read from memory for one step of all tiles. Tiles of C that share operand
/// tiles have flags at different k, and so read them at different times. Where the L2 does not hold what a round reads
/// along all of k, memory has to deliver most of it.
template <class Shape>
double residual_bytes(const Plan& plan, int tiles) {
  constexpr double TILE = OperandTile<typename Shape::Split>::BYTES;
  const double of_round = std::sqrt(static_cast<double>(plan.blocks) * Shape::BM * Shape::BN) / TILE_ROWS;
  const double k_tiles = plan.schedule.k_tiles;
  return 2 * of_round * k_tiles * TILE > LARGE_OPERANDS
             ? RESIDUALS_FROM_MEMORY * tiles * k_tiles * (1 + Shape::B_TILES) * TILE
             : 0.0;
}

/// A plan and its prediction.
struct PredictedPlan : Plan {
  double cycles;
  double strayed_bytes = 0.0;
};

/// The fastest of `with(blocks)`: each block has a share of all `k_tiles`, and there are as many as tiles or more.
template <class With>
PredictedPlan fastest_shares(int tiles, std::int64_t k_tiles, int multiprocessors, const With& with) {
  PredictedPlan best = with(tiles);
  for (int blocks = tiles + 1; blocks <= std::min<std::int64_t>(multiprocessors, k_tiles); ++blocks) {
    const PredictedPlan other = with(blocks);
    best = other.cycles < best.cycles ? other : best;
  }
  return best;
}

/// For `blocks` blocks, with tiles from number `whole` on divided along k.
template <class Shape>
PredictedPlan plan(const Problem& p, int tiles, int whole, int blocks) {
  const Plan plan{Schedule::of(tiles, static_cast<int>(k_tiles_of<typename Shape::Split>(p)), whole, blocks), blocks};
  return {plan, predicted_cycles<Shape>(p, plan, tiles), strayed_bytes<Shape>(p, plan, tiles)};
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
  return fastest_shares(tiles, tiles * k_tiles_of<typename Shape::Split>(p), multiprocessors,
                        [&](int blocks) { return plan<Shape>(p, tiles, 0, blocks); });
}

/// One of both.
template <class Shape>
PredictedPlan plan(const Problem& p, int multiprocessors, bool streamed) {
  return streamed ? plan_streamed<Shape>(p, multiprocessors) : plan_whole<Shape>(p, multiprocessors);
}

}  // namespace sgemm::SGEMM_TARGET::split_product
