#pragma once

// Predictions of the time on the busiest multiprocessor, by which configurations of a kernel are chosen.

#include "common/ceil_div.hpp"
#include "common/target.hpp"
#include "engine/stream_k.cuh"

#include <algorithm>
#include <string>

namespace sgemm::SGEMM_TARGET {

/// A number of persistent blocks, and the division of the work among them.
struct Plan {
  Schedule schedule;
  int blocks;
};

/// The cost of a tile of C, in cycles of a multiprocessor's clock.
struct TileCost {
  double k_tile;  ///< to multiply
  double store;   ///< accumulators to C or to the workspace
  double add;     ///< to add the partial sums of a share from the workspace
  double split_k_penalty =
      1.0;  ///< factor of `k_tile` in shares: their blocks are at different k and share less in the L2
};

/// The whole tiles of the busiest block.
inline double whole_tiles_cycles(const Plan& plan, const TileCost& tile) {
  return ceil_div(plan.schedule.whole, plan.blocks) * (plan.schedule.k_tiles * tile.k_tile + tile.store);
}

/// The longest share of the tiles that are divided along k; 0 where none is.
inline double share_cycles(const Plan& plan, const TileCost& tile) {
  const Schedule& schedule = plan.schedule;
  const double share = schedule.share + (schedule.longer_shares > 0 ? 1.0 : 0.0);
  if (share == 0.0) {
    return 0.0;
  }
  const double shares_of_tile = std::max(1.0, schedule.k_tiles / share);
  return share * tile.k_tile * tile.split_k_penalty + (1.0 + share / schedule.k_tiles) * tile.store +
         shares_of_tile * tile.add;
}

/// "128x256" and, where k is divided among blocks, "128x256 stream-k".
inline std::string tile_name(int rows, int columns, bool streamed = false) {
  return std::to_string(rows) + "x" + std::to_string(columns) + (streamed ? " stream-k" : "");
}

}  // namespace sgemm::SGEMM_TARGET
