#include "timing/turn.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include <fmt/format.h>

namespace sgemm {
namespace {

constexpr double US = 1e6;  // microseconds in a second

int launches_of_batch(double launch_us) {
  const double launches = std::ceil(BATCH_SECONDS * US / std::max(launch_us, 1e-3));
  return static_cast<int>(std::clamp(launches, 1.0, double{MAX_LAUNCHES_PER_BATCH}));
}

}  // namespace

double Turn::seconds() const { return std::accumulate(batch_us.begin(), batch_us.end(), 0.0) / US; }

long long Turn::launches() const { return launches_per_batch * static_cast<long long>(batch_us.size()); }

double Turn::launch_us() const { return seconds() * US / static_cast<double>(launches()); }

double Turn::launches_until(double seconds) const {
  double left_us = seconds * US;
  double done = 0.0;
  for (std::size_t i = 0; i < batch_us.size() && left_us > 0.0; ++i) {
    done += launches_per_batch * std::min(1.0, left_us / batch_us[i]);
    left_us -= batch_us[i];
  }
  return done;
}

ProductEnergy product_energy(const Turn& turn) {
  const EnergyAnswer answer = energy_of(turn.trace);
  if (!answer.use) {
    return {std::nullopt, 0.0, answer.reason};
  }
  const double launches = turn.launches_until(answer.use->to_s) - turn.launches_until(answer.use->from_s);
  if (launches <= 0.0) {
    return {std::nullopt, 0.0, "no launch ended between two steps of the energy counter"};
  }
  return {answer.use, answer.use->joules / launches, ""};
}

Turn take_turn(LaunchQueue& queue, double seconds, const Telemetry* telemetry, const StopToken& stop,
               const Observer& observer) {
  queue.enqueue(1);
  const double estimate_us = queue.finish();
  Turn turn;
  turn.launches_per_batch = launches_of_batch(estimate_us);
  Watch watch(telemetry);
  double done_us = 0.0;
  double latest_us = estimate_us * turn.launches_per_batch;
  int under_way = 0;
  constexpr int AHEAD = 2;
  while (true) {
    while (!stop.requested() && under_way < AHEAD && done_us + under_way * latest_us < seconds * US) {
      queue.enqueue(turn.launches_per_batch);
      ++under_way;
    }
    if (under_way == 0) {
      break;
    }
    latest_us = queue.finish();
    --under_way;
    done_us += latest_us;
    turn.batch_us.push_back(latest_us);
    observer(fmt::format("back to back for {:.0f} of {:g} s", done_us / US, seconds));
  }
  turn.trace = watch.stop();
  turn.cut_short = stop.requested();
  return turn;
}

CoolDown cool_down(const Telemetry* telemetry, std::optional<int> target_c, const Pause& pause, const StopToken& stop,
                   const Observer& observer) {
  constexpr double STEP_S = 0.5;
  const auto temperature = [&] { return telemetry != nullptr ? telemetry->sample().temperature_c : std::nullopt; };
  CoolDown result;
  result.from_c = temperature();
  result.to_c = result.from_c;
  const auto cool = [&] { return target_c && result.to_c && *result.to_c <= *target_c + COOL_KELVIN; };
  while (!cool() && result.seconds < COOL_SECONDS && !stop.requested()) {
    observer(fmt::format("cooling down for {:.0f} s at most", COOL_SECONDS - result.seconds));
    pause(STEP_S);
    result.seconds += STEP_S;
    result.to_c = temperature();
  }
  return result;
}

}  // namespace sgemm
