#pragma once

#include "device/telemetry.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sgemm {

/// What a GPU did during a stretch of time, as a Watch has seen it.
struct Trace {
  struct Point {
    double seconds = 0.0;  ///< since the stretch began
    TelemetrySample sample;
  };
  std::vector<Point> points;  ///< by time
  std::string no_energy;      ///< Telemetry::no_energy()

  /// Means over time; nothing where no point has the value. A point stands for the time until halfway to each
  /// neighbour.
  std::optional<double> mean_sm_clock_mhz() const;
  std::optional<double> mean_power_w() const;
  /// The share of the time, 0 to 1, in which something held the clock down.
  double throttled_share() const;
  /// That share for each reason that throttles and that occurred. Several may hold at once.
  std::vector<std::pair<std::string, double>> throttle_shares() const;
  /// Whether powers are of a moment; otherwise each is a mean over the second before.
  bool power_is_instant() const;
};

/// Energy that a GPU used between two moments of a trace.
struct EnergyUse {
  double joules = 0.0;
  double from_s = 0.0;
  double to_s = 0.0;
  /// How much of it the two moments leave open, as a share: the counter moves in steps, seen when it is read.
  double uncertainty = 0.0;

  double mean_power_w() const { return joules / (to_s - from_s); }
};

/// The energy of a trace, or the reason why there is none.
struct EnergyAnswer {
  std::optional<EnergyUse> use;
  std::string reason;  ///< empty where there is a use
};

/// The energy of the longest part of a trace that allows an honest answer.
///
/// NVML's energy counter moves in steps of tens of milliseconds. So the energy is that between its first step and its
/// last one: both moments are known to half the distance between two points.
EnergyAnswer energy_of(const Trace& trace);

/// Samples a GPU about every 10 ms on a thread of its own, from the constructor to stop(). NVML is asked there while
/// the GPU works, and nothing is enqueued.
class Watch {
 public:
  static constexpr auto PERIOD = std::chrono::milliseconds(10);

  /// `telemetry` outlives the watch; null makes an empty trace.
  explicit Watch(const Telemetry* telemetry);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Takes a last sample and ends. To be called once.
  Trace stop();

 private:
  void take();
  void end();

  const Telemetry* const telemetry_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Trace trace_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace sgemm
