#include "device/device.hpp"

#include <fmt/format.h>

namespace sgemm {

std::optional<int> Device::fp32_lanes_per_sm() const {
  switch (compute_capability) {
    case 70:
    case 72:
    case 75:
    case 80:
      return 64;
    case 86:
    case 87:
    case 89:
    case 90:
    case 100:
    case 103:
    case 110:
    case 120:
    case 121:
      return 128;
    default:
      return std::nullopt;
  }
}

std::optional<double> Device::fp32_peak_gflops() const {
  const std::optional<int> lanes = fp32_lanes_per_sm();
  if (!lanes || max_sm_clock_mhz == 0) {
    return std::nullopt;
  }
  return 2.0 * multiprocessors * *lanes * max_sm_clock_mhz / 1000.0;
}

std::string Device::fp32_peak_basis() const {
  return fmt::format("{} SMs x {} FP32 lanes x 2 x {} MHz (maximum SM clock)", multiprocessors,
                     fp32_lanes_per_sm().value_or(0), max_sm_clock_mhz);
}

double Device::dram_peak_gbytes_s() const { return 2.0 * max_memory_clock_mhz * (memory_bus_bits / 8.0) / 1000.0; }

std::string Device::dram_peak_basis() const {
  return fmt::format("{} bits x 2 x {} MHz (maximum memory clock)", memory_bus_bits, max_memory_clock_mhz);
}

std::string capability_text(int compute_capability) {
  return fmt::format("{}.{}", compute_capability / 10, compute_capability % 10);
}

}  // namespace sgemm
