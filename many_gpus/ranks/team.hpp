#pragma once

// All ranks of a product, as their leader sees them.

#include "base/interrupt.hpp"
#include "bench/bench.hpp"
#include "exchange/patience.hpp"
#include "ranks/job.hpp"
#include "schedule/grid.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sgemm {

/// The reply of a rank that gave none.
inline RankReply no_reply(double seconds) {
  RankReply reply;
  reply.stop(Outcome::failed, "no reply " + limit_text(seconds));
  return reply;
}

inline bool any_in_transfer(const std::vector<RankReply>& replies) {
  return std::any_of(replies.begin(), replies.end(), [](const RankReply& reply) { return reply.in_transfer; });
}

class Team {
 public:
  virtual ~Team() = default;

  virtual int size() const = 0;
  /// Gives all ranks an order and waits for their replies, which stand by rank. A rank that has not replied in time has
  /// a reply that says so.
  virtual std::vector<RankReply> all(const RankMessage& message) = 0;
  /// Whether a rank is gone, or was stopped amid an exchange: the ranks take no orders any more.
  bool lost() const { return lost_; }
  /// Whether times of different ranks are by one clock.
  bool common_clock() const { return common_clock_; }
  /// How pieces travel, in the words of results: "host copies", "peer copies".
  std::string_view exchange() const { return exchange_; }
  /// Addresses on the PCI bus of the GPUs on this machine, by rank.
  const std::vector<std::string>& gpu_addresses() const { return gpu_addresses_; }

 protected:
  Team(std::string_view exchange, bool common_clock, std::vector<std::string> gpu_addresses = {})
      : exchange_(exchange), common_clock_(common_clock), gpu_addresses_(std::move(gpu_addresses)) {}

  const std::string_view exchange_;
  const bool common_clock_;
  std::vector<std::string> gpu_addresses_;
  bool lost_ = false;
};

/// Makes a team of ranks on the executor, or each on a GPU of its machine; ranks of one machine have different GPUs.
/// Throws CaseStopped: not supported where a rank lacks what it needs, or GPUs are not of one model, and failed where a
/// rank takes more than `seconds`.
using TeamMaker = std::function<std::unique_ptr<Team>(bool on_gpus, std::optional<double> seconds, StopToken stop)>;

/// Microseconds that a run took: from the first rank's begin to the last rank's end where they have a common clock, and
/// otherwise what the slowest rank took from its own begin.
inline double run_us(const std::vector<RankReply>& replies, bool common_clock) {
  double first = std::numeric_limits<double>::infinity();
  double last = -first;
  double longest = 0.0;
  for (const RankReply& reply : replies) {
    first = std::min(first, reply.begin_us);
    last = std::max(last, reply.end_us);
    longest = std::max(longest, reply.end_us - reply.begin_us);
  }
  return common_clock ? last - first : longest;
}

/// Ranks on GPUs 0, 1, ... of this machine, each a thread of this process. Throws CaseStopped (not supported) where the
/// machine has fewer GPUs, or where they are not of one model.
std::unique_ptr<Team> make_gpu_team(const RankOptions& options, StopToken stop);

}  // namespace sgemm
