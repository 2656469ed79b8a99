#pragma once

#include "base/json.hpp"
#include "device/device.hpp"
#include "record/protocol.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace sgemm {

/// Model name of the host's processor, or "unknown".
std::string cpu_model();

/// Facts found out while the GPU was prepared, for the context. They are zeros and an empty driver if no GPU kernel is
/// to run.
struct GpuFacts {
  std::string driver;
  std::size_t flush_bytes = 0;
  double empty_kernel_us = 0.0;
  double event_resolution_us = 0.0;
};

/// The "context" of a results file (results.schema.json): the command line, host, device, libraries, build and
/// protocol.
Json describe_environment(const std::vector<std::string>& argv, const Protocol& protocol, const DeviceQuery& query,
                          const GpuFacts& facts);

}  // namespace sgemm
