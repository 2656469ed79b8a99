#include "device/gpu_libraries.hpp"

#include "device/cublas_handle.hpp"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <array>

#include <fmt/format.h>

namespace sgemm {
namespace {

/// 13020 -> "13.2". Nothing for 0, which CUDA returns if there is no driver.
std::optional<std::string> version_text(int version) {
  if (version == 0) {
    return std::nullopt;
  }
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

int runtime_version() {
  int version = 0;
  return cudaRuntimeGetVersion(&version) == cudaSuccess ? version : 0;
}

int driver_api_version() {
  int version = 0;
  return cudaDriverGetVersion(&version) == cudaSuccess ? version : 0;
}

std::string cublas_version() {
  std::array<int, 3> parts{};
  cublasGetProperty(MAJOR_VERSION, &parts[0]);
  cublasGetProperty(MINOR_VERSION, &parts[1]);
  cublasGetProperty(PATCH_LEVEL, &parts[2]);
  return fmt::format("{}.{}.{}", parts[0], parts[1], parts[2]);
}

}  // namespace

GpuLibraries gpu_libraries() {
  return {version_text(runtime_version()), version_text(driver_api_version()), cublas_version(),
          "CUBLAS_DEFAULT_MATH (FP32, no TF32)", CUBLAS_WORKSPACE_BYTES};
}

}  // namespace sgemm
