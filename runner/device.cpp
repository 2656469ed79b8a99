#include "device.hpp"

#include "cuda_check.hpp"
#include "usage_error.hpp"

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
  // Attributes, as CUDA 13 dropped the clocks from the properties.
  device.max_sm_clock_mhz = attribute(cudaDevAttrClockRate, index) / 1000;
  device.max_memory_clock_mhz = attribute(cudaDevAttrMemoryClockRate, index) / 1000;
  device.memory_bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth, index);
  return device;
}

}  // namespace

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
    CUDA_CHECK(cudaFree(nullptr));  // creates the context: what is wrong with the device shows here
    return {describe(index), ""};
  } catch (const CudaError& error) {
    cudaGetLastError();
    return {std::nullopt, error.what()};
  }
}

}  // namespace sgemm
