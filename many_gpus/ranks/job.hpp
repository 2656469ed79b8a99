#pragma once

// What travels between the leader and the ranks: plain data, as ranks may be processes on other machines.

#include "base/outcome.hpp"
#include "common/problem.hpp"
#include "problem/operands.hpp"
#include "schedule/grid.hpp"
#include "schedule/schedule.hpp"
#include "verify/verify.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace sgemm {

/// A text with a 0 at the end.
template <std::size_t SIZE>
using Text = std::array<char, SIZE>;

/// Cuts off what has no room.
template <std::size_t SIZE>
void set(Text<SIZE>& text, std::string_view value) {
  text.fill('\0');
  std::copy_n(value.begin(), std::min(value.size(), SIZE - 1), text.begin());
}

/// A product and how it is to be computed.
struct RankJob {
  Shape shape;
  Distribution data = Distribution::uniform;
  std::uint64_t seed = 0;
  Grid grid;
  int local_kernel = 0;  ///< position in kernels(), of which all ranks have the same
  AccuracyClass accuracy = AccuracyClass::fp32;
  bool cold_l2 = true;
  bool verify = true;
  std::int64_t first_rows = FIRST_ROWS;  ///< of B that come first, see make_schedule()
  bool alone = false;  ///< whether each rank's block is also computed without exchange, see RankOrder::run_alone
};

enum class RankOrder {
  set_up,     ///< make the operands of a job, and all that a run needs
  run,        ///< compute the product once
  run_fresh,  ///< the same with room for pieces that holds NaN before
  run_alone,  ///< compute the same blocks of C from operands that are all there: what no exchange can be faster than
  check,      ///< compare C with double precision
  tear_down,  ///< free all memory of the job
};

struct RankMessage {
  RankOrder order = RankOrder::tear_down;
  RankJob job = {};                              ///< with set_up
  std::optional<double> seconds = std::nullopt;  ///< that the order may take; nothing for as long as it likes
};

/// How a rank's order ended.
struct RankReply {
  bool stopped = false;
  Outcome outcome = Outcome::failed;  ///< where it was stopped
  bool cause_elsewhere = false;       ///< whether only another rank, or an interrupt, stopped it
  bool in_transfer = false;           ///< whether it was stopped while ranks exchanged pieces
  Text<400> reason{};                 ///< why
  double begin_us = 0.0;              ///< of a run, on the rank's own clock
  double end_us = 0.0;
  Verdict verdict = {};  ///< of a check

  void stop(Outcome how, std::string_view why) {
    stopped = true;
    outcome = how;
    set(reason, why);
  }
};

static_assert(std::is_trivially_copyable_v<RankMessage> && std::is_trivially_copyable_v<RankReply>);

}  // namespace sgemm
