#include "judge/round_trip.hpp"

#include "base/outcome.hpp"
#include "base/statistics.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace sgemm {
namespace {

template <class Value>
std::vector<double> values(const std::vector<RoundTrip>& trips, const Value& value) {
  std::vector<double> result;
  result.reserve(trips.size());
  for (const RoundTrip& each : trips) {
    result.push_back(value(each));
  }
  return result;
}

double beside_us(const RoundTrip& trip) { return trip.beside_us(); }

}  // namespace

RoundTripCost cost_of(const std::vector<RoundTrip>& empty) {
  std::vector<double> beside = values(empty, beside_us);
  std::sort(beside.begin(), beside.end());
  const std::size_t quarter = beside.size() / 4;
  const double spread = beside[beside.size() - 1 - quarter] - beside[quarter];
  return {median(beside), std::max(LEAST_TOLERANCE_US, SPREADS * spread)};
}

ClockComparison require_clocks_agree(const std::vector<RoundTrip>& trips, const RoundTripCost& cost) {
  for (const RoundTrip& each : trips) {
    if (!(each.told_us <= each.judged_us)) {
      throw CaseStopped(
          Outcome::implausible,
          fmt::format("its process tells of {:.4g} us in a sample of which nothing is left after {:.4g} us",
                      each.told_us, each.judged_us));
    }
  }
  // Of the differences, and not of both terms: drift of the clocks cancels within a round trip.
  ClockComparison comparison;
  comparison.told_us = median(values(trips, [](const RoundTrip& each) { return each.told_us; }));
  comparison.judged_us = comparison.told_us + median(values(trips, beside_us));
  comparison.cost = cost;
  if (!(comparison.unexplained_us() <= comparison.allowed_us())) {
    throw CaseStopped(
        Outcome::implausible,
        fmt::format("the clocks disagree: its process tells of {:.4g} us for a sample, and the judge has {:.4g} us for "
                    "it and all around it, which takes {:.4g} us with an empty kernel; {:.4g} us are allowed for the "
                    "difference: there is work outside of the launches' own time",
                    comparison.told_us, comparison.judged_us, cost.us, comparison.allowed_us()));
  }
  return comparison;
}

void require_turn_agrees(double judged_s, double told_s) {
  constexpr double SHARE = 0.05;
  constexpr double ENDS_S = 0.05;  // the first launch, of which batches are made, and the end of the last one
  const double allowed = ENDS_S + SHARE * judged_s;
  if (!(told_s <= judged_s) || !(judged_s - told_s <= allowed)) {
    throw CaseStopped(Outcome::implausible,
                      fmt::format("the clocks disagree: its process tells of {:.4g} s in a turn of {:.4g} s, and they "
                                  "may differ by {:.4g} s",
                                  told_s, judged_s, allowed));
  }
}

void require_rival_undisturbed(double beside_us, double alone_us, int launches) {
  if (!(beside_us <= MOST_SLOWDOWN * alone_us + MOST_DELAY_US / launches)) {
    throw CaseStopped(
        Outcome::implausible,
        fmt::format("cuBLAS takes {:.4g} us beside it, and {:.4g} us before its process was started: there "
                    "is work outside of its samples",
                    beside_us, alone_us));
  }
}

}  // namespace sgemm
