#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// The state of a GPU at one moment. Values that the driver does not report are absent.
struct TelemetrySample {
  std::optional<int> sm_clock_mhz;
  std::optional<int> memory_clock_mhz;
  std::optional<double> power_w;
  std::optional<int> temperature_c;
  std::vector<std::string> throttle_reasons;   ///< names, such as "sw_power_cap"; empty when none is active
  std::optional<double> instant_power_w = {};  ///< power_w is a mean over the last second on GPUs since Ampere
  std::optional<double> energy_j = {};         ///< since the driver was loaded; the difference of two is of use

  /// Whether power, heat or hardware protection held the clocks below the settings.
  bool throttled() const;
};

/// Power at one moment, or its mean over the second before where NVML has nothing better.
std::optional<double> power_of(const TelemetrySample& sample);

/// A reason of the runner's own: the power has reached what the board may draw, and the driver names no cap, which it
/// does late or never in a short burst.
constexpr std::string_view POWER_AT_LIMIT = "power_at_limit";
/// Notes it, where it holds.
void note_power_at(double limit_w, TelemetrySample& sample);

/// Names of the bits of NVML's mask of clock event (formerly throttle) reasons.
std::vector<std::string> throttle_reason_names(unsigned long long mask);

/// Whether a reason of that name lowers clocks that the settings and the load would allow.
bool throttles(std::string_view reason);

/// NVML, which is loaded when the program runs, so that machines without it measure too.
class Telemetry {
 public:
  /// Null if the library is missing or does not know this device.
  static std::unique_ptr<Telemetry> open(const std::string& pci_bus_id);
  virtual ~Telemetry() = default;

  virtual TelemetrySample sample() const = 0;
  virtual std::string driver_version() const = 0;
  /// Why samples have no energy_j, or why it says nothing about this program; empty where it does.
  virtual std::string no_energy() const = 0;
};

}  // namespace sgemm
