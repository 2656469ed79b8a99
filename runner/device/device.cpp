#include "device/device.hpp"
#include "rates_json.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sgemm {
namespace {

const nlohmann::json& table() {
  static const nlohmann::json all = nlohmann::json::parse(RATES_JSON);
  return all;
}

}  // namespace

std::optional<double> Device::fp32_peak_gflops() const {
  const std::optional<int> lanes = multiply_adds_per_cycle(compute_capability, "fp32");
  if (!lanes || max_sm_clock_mhz == 0) {
    return std::nullopt;
  }
  return 2.0 * multiprocessors * *lanes * max_sm_clock_mhz / 1000.0;
}

std::string Device::fp32_peak_basis() const {
  return fmt::format("{} SMs x {} FP32 lanes x 2 x {} MHz (maximum SM clock)", multiprocessors,
                     multiply_adds_per_cycle(compute_capability, "fp32").value_or(0), max_sm_clock_mhz);
}

double Device::dram_peak_gbytes_s() const { return 2.0 * max_memory_clock_mhz * (memory_bus_bits / 8.0) / 1000.0; }

std::string Device::dram_peak_basis() const {
  return fmt::format("{} bits x 2 x {} MHz (maximum memory clock)", memory_bus_bits, max_memory_clock_mhz);
}

std::size_t flush_bytes(std::size_t l2_bytes, std::size_t free) {
  constexpr std::size_t CACHE_SIZES = 4;
  constexpr std::size_t SMALLEST = std::size_t{256} << 20U;
  const std::size_t bytes = std::max(CACHE_SIZES * l2_bytes, SMALLEST);
  if (bytes > free) {
    throw std::runtime_error(
        fmt::format("a cold L2 takes {} MiB of device memory to flush it, and {} MiB are free; --l2 warm does without",
                    bytes >> 20U, free >> 20U));
  }
  return bytes;
}

std::string capability_text(int compute_capability) {
  return fmt::format("{}.{}", compute_capability / 10, compute_capability % 10);
}

std::optional<int> multiply_adds_per_cycle(int compute_capability, const std::string& kind) {
  const nlohmann::json rates = table().at("rates").value(capability_text(compute_capability), nlohmann::json::object());
  return rates.contains(kind) ? std::optional(rates.at(kind).get<int>()) : std::nullopt;
}

std::map<std::string, int> products_for(const std::string& precision) { return table().at("products").at(precision); }

std::string kind_of_chapters(const std::string& accuracy_class) { return table().at("chapters").at(accuracy_class); }

double clock_tolerance() { return table().at("tolerance").get<double>(); }

}  // namespace sgemm
