#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace sgemm {

/// The GPU libraries that are loaded. No device is needed to ask for them. Everything is absent in a build without the
/// CUDA toolkit.
struct GpuLibraries {
  std::optional<std::string> cuda_runtime;     ///< "13.0"
  std::optional<std::string> cuda_driver_api;  ///< the newest that the driver supports
  std::optional<std::string> cublas;           ///< "13.1.0"
  std::optional<std::string> cublas_math_mode;
  std::optional<std::size_t> cublas_workspace_bytes;
};

GpuLibraries gpu_libraries();

}  // namespace sgemm
