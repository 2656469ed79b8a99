#pragma once

// Devices, kernels and boards that are not there.

#include "base/kernel.hpp"
#include "device/device.hpp"
#include "device/trace.hpp"

#include <atomic>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

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

inline Kernel fake_kernel(int number, std::string name, std::string variant = {}) {
  Kernel kernel;
  kernel.number = number;
  kernel.name = std::move(name);
  kernel.variant = std::move(variant);
  kernel.summary = "summary of " + kernel.id();
  kernel.source = "source of " + kernel.id();
  kernel.min_compute_capability = 75;
  return kernel;
}

inline Kernel fake_cpu_kernel(std::string name) {
  Kernel kernel = fake_kernel(-1, std::move(name));
  kernel.platform = Platform::cpu;
  kernel.min_compute_capability = 0;
  return kernel;
}

/// One that is launched so where it was built for `target`, and not built for others.
inline Kernel launched_by(Target target, std::function<void(const Problem&, cudaStream_t)> launch) {
  Kernel kernel = fake_kernel(-1, "launched");
  kernel.min_compute_capability = 0;
  kernel.build(target).configurations = [launch = std::move(launch)](const Problem&) {
    const auto ignoring = [launch](const Problem& p, void*, cudaStream_t stream) { launch(p, stream); };
    return std::vector{Configuration{"", 0, ignoring}};
  };
  return kernel;
}

/// Kernels that can not run, in the registry's order. Number 4 is missing; 10 has no default variant.
inline std::vector<Kernel> fake_kernels() {
  std::vector<Kernel> kernels{fake_kernel(0, "cublas"),
                              fake_cpu_kernel("cpu_blas"),
                              fake_kernel(-1, "cublas_tf32"),
                              fake_kernel(1, "naive"),
                              fake_kernel(1, "naive", "uncoalesced"),
                              fake_kernel(2, "smem_tiled"),
                              fake_kernel(2, "smem_tiled", "32"),
                              fake_kernel(2, "smem_tiled", "tile32"),
                              fake_kernel(3, "strip_tiled"),
                              fake_kernel(5, "coarse_1d"),
                              fake_kernel(6, "coarse_2d"),
                              fake_kernel(6, "coarse_2d", "vectorized"),
                              fake_kernel(10, "split_k", "atomic"),
                              fake_kernel(10, "split_k", "reduce")};
  kernels[2].accuracy = AccuracyClass::tf32;
  kernels[2].min_compute_capability = 80;
  return kernels;
}

/// A board that draws a steady power, and whose energy counter moves in steps.
struct FakeBoard {
  double watts = 700.0;
  double step_s = 0.1;  ///< of the energy counter
  int clock_mhz = 1500;
  int temperature_c = 60;
  std::vector<std::string> reasons{"sw_power_cap"};

  TelemetrySample at(double seconds) const {
    const double energy = watts * std::floor((seconds + 1000.03) / step_s) * step_s;  // the counter began long ago
    return {clock_mhz, 3201, watts / 2.0, temperature_c, reasons, watts, energy};
  }

  /// What a Watch would see of it.
  Trace watch(double seconds, double period_s = 0.01) const {
    Trace trace;
    for (int i = 0; i * period_s <= seconds; ++i) {
      trace.points.push_back({i * period_s, at(i * period_s)});
    }
    return trace;
  }
};

/// Tells what it is told to, and how often it was asked.
class FakeTelemetry final : public Telemetry {
 public:
  explicit FakeTelemetry(TelemetrySample sample) : sample_(std::move(sample)) {}

  TelemetrySample sample() const override {
    ++asked;
    return sample_;
  }
  std::string driver_version() const override { return "580.1"; }
  std::string no_energy() const override { return ""; }

  void heat_to(int celsius) { sample_.temperature_c = celsius; }

  mutable std::atomic<int> asked = 0;

 private:
  TelemetrySample sample_;
};

}  // namespace sgemm
