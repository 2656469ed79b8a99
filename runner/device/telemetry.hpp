#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sgemm {

/// The state of a GPU at one moment. What the driver does not tell is absent.
struct TelemetrySample {
  std::optional<int> sm_clock_mhz;
  std::optional<int> memory_clock_mhz;
  std::optional<double> power_w;
  std::optional<int> temperature_c;
  std::vector<std::string> throttle_reasons;  ///< names, such as "sw_power_cap"; empty when none is active

  /// Whether the clocks were held below what the settings ask for: power, heat or hardware protection.
  bool throttled() const;
};

/// Names of the bits of NVML's mask of clock event (formerly throttle) reasons.
std::vector<std::string> throttle_reason_names(unsigned long long mask);

/// NVML, loaded when the program runs: machines without it still measure.
class Telemetry {
 public:
  /// Nothing when the library, or this device in it, can not be had.
  static std::unique_ptr<Telemetry> open(const std::string& pci_bus_id);
  virtual ~Telemetry() = default;

  virtual TelemetrySample sample() const = 0;
  virtual std::string driver_version() const = 0;
};

}  // namespace sgemm
