#pragma once

#include "base/outcome.hpp"
#include "common/problem.hpp"

#include <fmt/format.h>

namespace sgemm {

/// Ends the case as skipped when m * n * k is above `side` cubed: a CPU would take minutes. Called while preparing.
inline void cap_size(const Problem& p, std::int64_t side) {
  const double cap = static_cast<double>(side) * static_cast<double>(side) * static_cast<double>(side);
  if (flops(p) > 2.0 * cap) {
    throw CaseStopped(Outcome::skipped, fmt::format("CPU baseline capped at m * n * k = {}^3", side));
  }
}

}  // namespace sgemm
