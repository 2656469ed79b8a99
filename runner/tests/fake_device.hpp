#pragma once

#include "device/device.hpp"

#include <cstddef>

namespace sgemm {

/// An H200 that is not there.
inline Device fake_device() {
  Device device;
  device.name = "NVIDIA H200";
  device.compute_capability = 90;
  device.multiprocessors = 132;
  device.max_threads_per_sm = 2048;
  device.l2_bytes = std::size_t{60} << 20U;
  device.memory_bytes = std::size_t{141} << 30U;
  device.smem_per_sm_bytes = 233472;
  device.smem_per_block_optin_bytes = 232448;
  device.max_sm_clock_mhz = 1980;
  device.max_memory_clock_mhz = 3201;
  device.memory_bus_bits = 6144;
  return device;
}

}  // namespace sgemm
