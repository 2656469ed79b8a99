#pragma once

// All ranks of a product, as their leader sees them.

#include "many_gpus/grid.hpp"
#include "ranks/job.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace sgemm {

/// How a product is spread over GPUs, as far as the command line says so.
struct RankOptions {
  std::optional<int> gpus;   ///< at least 1; without it all GPUs of the machine, or HOST_RANKS ranks on the executor
  std::optional<Grid> grid;  ///< of as many ranks as `gpus`; without it best_grid()
};

/// Ranks on the executor where the command line names no number.
constexpr int HOST_RANKS = 4;

class Team {
 public:
  virtual ~Team() = default;

  virtual int size() const = 0;
  /// Gives all ranks an order and waits for their replies, which stand by rank.
  virtual std::vector<RankReply> all(const RankMessage& message) = 0;
  /// How pieces travel, in the words of results: "host copies", "peer copies".
  virtual std::string_view exchange() const = 0;
};

/// Microseconds from the first rank's begin of a run to the last rank's end, by the clock that threads share.
inline double span_us(const std::vector<RankReply>& replies) {
  double begin = std::numeric_limits<double>::infinity();
  double end = -begin;
  for (const RankReply& reply : replies) {
    begin = std::min(begin, reply.begin_us);
    end = std::max(end, reply.end_us);
  }
  return end - begin;
}

/// Ranks on GPUs 0, 1, ... of this machine, each a thread of this process. Throws CaseStopped (not supported) where the
/// machine has fewer GPUs, or where they are not of one model.
std::unique_ptr<Team> make_gpu_team(std::optional<int> gpus);

}  // namespace sgemm
