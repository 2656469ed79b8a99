#pragma once

#include "cli/options.hpp"

#include <chrono>
#include <optional>

namespace sgemm {

/// The seconds that a case in a process of its own may be silent for, and an order to ranks may take; nothing for as
/// long as they like.
std::optional<double> seconds_per_case(const Options& options, bool on_gpu, bool several_gpus);

/// How long the leader of ranks waits for replies to an order that may take so many seconds. The ranks' own reasons
/// tell more, and come first.
inline std::chrono::duration<double> time_for_replies(double seconds) {
  constexpr double LATER = 2.0;
  return std::chrono::duration<double>(seconds + LATER);
}

}  // namespace sgemm
