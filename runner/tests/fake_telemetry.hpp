#pragma once

#include "device/telemetry.hpp"
#include "device/trace.hpp"

#include <atomic>
#include <cmath>
#include <string>
#include <vector>

namespace sgemm {

/// A board that draws a steady power, and whose energy counter moves in steps.
struct FakeBoard {
  double watts = 700.0;
  double step_s = 0.1;  ///< of the energy counter
  int clock_mhz = 1500;
  int temperature_c = 60;
  std::vector<std::string> reasons{"sw_power_cap"};

  TelemetrySample at(double seconds) const {
    const double energy = watts * std::floor((seconds + 1000.03) / step_s) * step_s;  // the counter began long ago
    return {clock_mhz, 3201, watts / 2.0, temperature_c, reasons, watts, energy};
  }

  /// What a Watch would see of it.
  Trace watch(double seconds, double period_s = 0.01) const {
    Trace trace;
    for (int i = 0; i * period_s <= seconds; ++i) {
      trace.points.push_back({i * period_s, at(i * period_s)});
    }
    return trace;
  }
};

/// Tells what it is told to, and how often it was asked.
class FakeTelemetry final : public Telemetry {
 public:
  explicit FakeTelemetry(TelemetrySample sample) : sample_(std::move(sample)) {}

  TelemetrySample sample() const override {
    ++asked;
    return sample_;
  }
  std::string driver_version() const override { return "580.1"; }
  std::string no_energy() const override { return ""; }

  void heat_to(int celsius) { sample_.temperature_c = celsius; }

  mutable std::atomic<int> asked = 0;

 private:
  TelemetrySample sample_;
};

}  // namespace sgemm
