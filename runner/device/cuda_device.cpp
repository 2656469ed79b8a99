#include "base/usage_error.hpp"
#include "common/cuda_check.hpp"
#include "device/cublas_handle.hpp"
#include "device/device.hpp"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <array>

#include <fmt/format.h>

namespace sgemm {
namespace {

int attribute(cudaDeviceAttr which, int index) {
  int value = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&value, which, index));
  return value;
}

Device describe(int index) {
  cudaDeviceProp properties{};
  CUDA_CHECK(cudaGetDeviceProperties(&properties, index));
  std::array<char, 32> bus_id{};
  CUDA_CHECK(cudaDeviceGetPCIBusId(bus_id.data(), static_cast<int>(bus_id.size()), index));
  Device device;
  device.index = index;
  device.name = properties.name;
  device.pci_bus_id = bus_id.data();
  device.compute_capability = 10 * properties.major + properties.minor;
  device.multiprocessors = properties.multiProcessorCount;
  device.max_threads_per_sm = properties.maxThreadsPerMultiProcessor;
  device.l2_bytes = static_cast<std::size_t>(properties.l2CacheSize);
  device.memory_bytes = properties.totalGlobalMem;
  device.smem_per_sm_bytes = properties.sharedMemPerMultiprocessor;
  device.smem_per_block_optin_bytes = properties.sharedMemPerBlockOptin;
  // These are attributes, because CUDA 13 dropped the clocks from the properties.
  device.max_sm_clock_mhz = attribute(cudaDevAttrClockRate, index) / 1000;
  device.max_memory_clock_mhz = attribute(cudaDevAttrMemoryClockRate, index) / 1000;
  device.memory_bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth, index);
  device.reaches_host_memory = attribute(cudaDevAttrPageableMemoryAccess, index) != 0;
  return device;
}

/// 13020 -> "13.2". Nothing for 0, which CUDA returns if there is no driver.
std::optional<std::string> version_of(cudaError_t (*get)(int*)) {
  int version = 0;
  if (get(&version) != cudaSuccess || version == 0) {
    return std::nullopt;
  }
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string cublas_version() {
  std::array<int, 3> parts{};
  cublasGetProperty(MAJOR_VERSION, &parts[0]);
  cublasGetProperty(MINOR_VERSION, &parts[1]);
  cublasGetProperty(PATCH_LEVEL, &parts[2]);
  return fmt::format("{}.{}.{}", parts[0], parts[1], parts[2]);
}

}  // namespace

DeviceQuery query_device(int index) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    cudaGetLastError();
    int driver = 0;
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) {
      return {std::nullopt, "no NVIDIA driver is installed"};  // the runtime would call it an old one
    }
    return {std::nullopt, fmt::format("{} ({})", cudaGetErrorString(status), cudaGetErrorName(status))};
  }
  if (count == 0) {
    return {std::nullopt, "the CUDA driver lists no device"};
  }
  if (index >= count) {
    throw UsageError(fmt::format("--device {}: this machine has {} CUDA device{}, numbered from 0", index, count,
                                 count == 1 ? "" : "s"));
  }
  try {
    CUDA_CHECK(cudaSetDevice(index));
    CUDA_CHECK(cudaFree(nullptr));  // creates the context, and shows whether the device works
    return {describe(index), ""};
  } catch (const CudaError& error) {
    cudaGetLastError();
    return {std::nullopt, error.what()};
  }
}

GpuLibraries gpu_libraries() {
  return {version_of(cudaRuntimeGetVersion), version_of(cudaDriverGetVersion), cublas_version(),
          "CUBLAS_DEFAULT_MATH (FP32, no TF32)", CUBLAS_WORKSPACE_BYTES};
}

}  // namespace sgemm
