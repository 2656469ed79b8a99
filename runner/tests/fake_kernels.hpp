#pragma once

#include "base/kernel.hpp"

#include <string>
#include <utility>
#include <vector>

namespace sgemm {

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

}  // namespace sgemm
