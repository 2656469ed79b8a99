#include "device/trace.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>

namespace sgemm {
namespace {

using Points = std::vector<Trace::Point>;

/// The time that a point stands for, in seconds. A single point stands for everything.
double weight(const Points& points, std::size_t i) {
  if (points.size() == 1) {
    return 1.0;
  }
  const double before = points[i > 0 ? i - 1 : i].seconds;
  const double after = points[std::min(i + 1, points.size() - 1)].seconds;
  return (after - before) / 2.0;
}

std::optional<double> mean(const Points& points, const std::function<std::optional<double>(const Trace::Point&)>& of) {
  double sum = 0.0;
  double weights = 0.0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (const std::optional<double> value = of(points[i])) {
      sum += *value * weight(points, i);
      weights += weight(points, i);
    }
  }
  return weights > 0.0 ? std::optional(sum / weights) : std::nullopt;
}

/// The moments at which the counter was seen to have moved: the number of the first point after each.
std::vector<std::size_t> steps_of_counter(const Points& points) {
  std::vector<std::size_t> steps;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const std::optional<double>& before = points[i - 1].sample.energy_j;
    const std::optional<double>& after = points[i].sample.energy_j;
    if (before && after && *after > *before) {
      steps.push_back(i);
    }
  }
  return steps;
}

}  // namespace

bool Trace::power_is_instant() const {
  return std::ranges::any_of(points, [](const Point& point) { return point.sample.instant_power_w.has_value(); });
}

std::optional<double> Trace::mean_sm_clock_mhz() const {
  return mean(points, [](const Point& point) -> std::optional<double> { return point.sample.sm_clock_mhz; });
}

std::optional<double> Trace::mean_power_w() const {
  return mean(points, [](const Point& point) { return power_of(point.sample); });
}

double Trace::throttled_share() const {
  return mean(points, [](const Point& point) { return point.sample.throttled() ? 1.0 : 0.0; }).value_or(0.0);
}

std::vector<std::pair<std::string, double>> Trace::throttle_shares() const {
  std::map<std::string, double> shares;
  for (const Point& point : points) {
    for (const std::string& reason : point.sample.throttle_reasons) {
      if (throttles(reason)) {
        shares[reason] = 0.0;
      }
    }
  }
  for (auto& [reason, share] : shares) {
    share = *mean(points, [&name = reason](const Point& point) {
      const std::vector<std::string>& held = point.sample.throttle_reasons;
      return std::ranges::find(held, name) != held.end() ? 1.0 : 0.0;
    });
  }
  return {shares.begin(), shares.end()};
}

EnergyAnswer energy_of(const Trace& trace) {
  const Points& points = trace.points;
  const std::vector<std::size_t> steps = steps_of_counter(points);
  if (!trace.no_energy.empty()) {
    return {std::nullopt, trace.no_energy};
  }
  if (steps.size() < 2) {
    return {std::nullopt, "the launches ended before the energy counter had moved twice"};
  }
  const auto moment = [&](std::size_t i) { return (points[i - 1].seconds + points[i].seconds) / 2.0; };
  const auto open = [&](std::size_t i) { return (points[i].seconds - points[i - 1].seconds) / 2.0; };
  const std::size_t first = steps.front();
  const std::size_t last = steps.back();
  const double joules = *points[last].sample.energy_j - *points[first].sample.energy_j;
  const double uncertainty = (open(first) + open(last)) / (moment(last) - moment(first));
  return {EnergyUse{joules, moment(first), moment(last), uncertainty}, ""};
}

Watch::Watch(const Telemetry* telemetry) : telemetry_(telemetry) {
  if (telemetry_ == nullptr) {
    trace_.no_energy = "NVML is missing or does not know this GPU";
    return;
  }
  trace_.no_energy = telemetry_->no_energy();
  thread_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!stop_) {
      const auto next = std::chrono::steady_clock::now() + PERIOD;
      take();
      stopped_.wait_until(lock, next, [this] { return stop_; });
    }
    take();
  });
}

Watch::~Watch() { end(); }

void Watch::take() {
  // The moment is that between the question and the answer.
  const auto before = std::chrono::steady_clock::now();
  TelemetrySample sample = telemetry_->sample();
  const auto after = std::chrono::steady_clock::now();
  trace_.points.push_back(
      {std::chrono::duration<double>(before - start_ + (after - before) / 2).count(), std::move(sample)});
}

void Watch::end() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    stopped_.notify_one();
    thread_.join();
  }
}

Trace Watch::stop() {
  end();
  return std::move(trace_);
}

}  // namespace sgemm
