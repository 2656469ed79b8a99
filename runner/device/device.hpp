#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace sgemm {

/// The facts about one GPU that the suite needs.
struct Device {
  int index = 0;
  std::string name;
  std::string pci_bus_id;
  int compute_capability = 0;  ///< 10 * major + minor
  int multiprocessors = 0;
  int max_threads_per_sm = 0;
  std::size_t l2_bytes = 0;
  std::size_t memory_bytes = 0;
  std::size_t smem_per_sm_bytes = 0;
  std::size_t smem_per_block_optin_bytes = 0;
  int max_sm_clock_mhz = 0;
  int max_memory_clock_mhz = 0;
  int memory_bus_bits = 0;
  bool reaches_host_memory = false;  ///< all of a process's, without that anybody passes it on

  /// The speed if every FP32 lane does one FMA a cycle at the maximum SM clock; nothing for a compute capability that
  /// this suite does not know.
  std::optional<double> fp32_peak_gflops() const;
  std::string fp32_peak_basis() const;  ///< "132 SMs x 128 FP32 lanes x 2 x 1980 MHz (maximum SM clock)"
  /// The bytes that the whole bus moves at both edges of the maximum memory clock.
  double dram_peak_gbytes_s() const;
  std::string dram_peak_basis() const;
};

/// The bytes of a buffer that evicts everything from an L2 cache of that size when it is written: four times as many,
/// and at least 256 MiB. A smaller one would leave samples warm that are recorded as cold, so where `free` has no room
/// for it, throws std::runtime_error.
std::size_t flush_bytes(std::size_t l2_bytes, std::size_t free);

/// 90 -> "9.0".
std::string capability_text(int compute_capability);

/// A device, or one line that says why there is none.
struct DeviceQuery {
  std::optional<Device> device;
  std::string error;
};

/// Looks at device number `index` and makes it the current one. Throws UsageError if there are devices, but none with
/// that number. A build without the CUDA toolkit has no device.
DeviceQuery query_device(int index);

// device/rates.json, which the scripts read as well: how fast GPUs multiply numbers of each kind ("fp32", "tf32",
// "fp16", "bf16", "int8").

/// Multiply-adds of one multiprocessor in a cycle; nothing where the table does not have the GPU or the kind.
std::optional<int> multiply_adds_per_cycle(int compute_capability, const std::string& kind);

/// How many products of each kind make a product that is as accurate as FP32 or as TF32, as chapters do it; of "file",
/// the fewest that could do for FP32.
std::map<std::string, int> products_for(const std::string& precision);

/// The kind that the chapters of an accuracy class multiply; other kernels may take any.
std::string kind_of_chapters(const std::string& accuracy_class);

/// By how much a clock may exceed what the driver calls its maximum, as a factor.
double clock_tolerance();

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
