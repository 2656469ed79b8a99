#pragma once

#include <algorithm>
#include <vector>

namespace sgemm {

// The launcher tells how long a sample took, and may not tell the truth. The judge has a clock of its own, which begins
// before the operands of the sample are made and stops when its results have been looked at. In between there is the
// judge's own work, the way to the launcher and back, and the sample. All but the sample takes as long as it did when
// the launcher had an empty kernel to launch, and nothing foreign in it.

/// To a launcher and back: microseconds by the judge's clock, and those that the launcher tells.
struct RoundTrip {
  double judged_us = 0.0;
  double told_us = 0.0;

  double beside_us() const { return judged_us - told_us; }
};

/// What a round trip takes beside the sample.
struct RoundTripCost {
  double us = 0.0;
  double tolerance_us = 0.0;  ///< by which the median of others may exceed it
};

/// Of round trips with nothing foreign in the launcher, at least one. The tolerance is SPREADS times the half in the
/// middle of them, and at least LEAST_TOLERANCE_US: a host's threads wake up late at times.
RoundTripCost cost_of(const std::vector<RoundTrip>& empty);

constexpr double SPREADS = 3.0;
constexpr double LEAST_TOLERANCE_US = 20.0;
/// A tolerance above this one is of a host that was busy with something else, so that the cost is measured again.
constexpr double CALM_TOLERANCE_US = 40.0;
/// Of the sample's own time, for clocks of the GPU that have changed since.
constexpr double RELATIVE_TOLERANCE = 0.02;
/// A thread that has slept for a long sample wakes up later than one that has not: by a part of its time, up to a
/// limit.
constexpr double WAKING_TOLERANCE = 0.05;
constexpr double LATEST_WAKING_US = 100.0;

/// The medians of round trips, as a record has them.
struct ClockComparison {
  double judged_us = 0.0;
  double told_us = 0.0;
  RoundTripCost cost;

  /// What the judge's clock has, and the launcher does not account for.
  double unexplained_us() const { return judged_us - told_us - cost.us; }
  double allowed_us() const {
    return cost.tolerance_us +
           std::max(RELATIVE_TOLERANCE * told_us, std::min(WAKING_TOLERANCE * told_us, LATEST_WAKING_US));
  }
};

/// Throws CaseStopped (implausible) where a round trip took less than the sample in it, or where there is more in them
/// than samples and the cost. A single one may be late, so it is the median that counts.
ClockComparison require_clocks_agree(const std::vector<RoundTrip>& trips, const RoundTripCost& cost);

/// The same for a turn of many launches in `judged_s` seconds.
void require_turn_agrees(double judged_s, double told_s);

/// Throws CaseStopped (implausible) where the rival's median beside the kernel, in samples of so many launches, is
/// MOST_SLOWDOWN times what it was before the launcher was started, and MOST_DELAY_US a sample besides: processes that
/// work at the same time share the GPU's time, by slices of a millisecond or more.
void require_rival_undisturbed(double beside_us, double alone_us, int launches);

/// Kernels that draw much power slow the rival beside them by a tenth at most.
constexpr double MOST_SLOWDOWN = 1.25;
/// One that leaves most of the GPU idle for 25 ms, docs/lab/judge.md, slows the next sample of cuBLAS by some 70 us.
constexpr double MOST_DELAY_US = 100.0;

}  // namespace sgemm
