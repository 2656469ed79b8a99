// The triple loop on one thread. The word "naive" is measured against it.

#include "base/kernel.hpp"

#include <vector>

namespace sgemm {
namespace {

constexpr double LARGEST = 512;  // M = N = K

void multiply(const Problem& p, void*, cudaStream_t) {
  const std::int64_t depth = p.alpha == 0.0F ? 0 : p.k;  // BLAS does not read A and B then
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      float sum = 0.0F;
      for (std::int64_t k = 0; k < depth; ++k) {
        sum += p.a[i * p.lda + k] * p.b[k * p.ldb + j];
      }
      float& c = p.c[i * p.ldc + j];
      c = p.beta == 0.0F ? p.alpha * sum : p.alpha * sum + p.beta * c;
    }
  }
}

Kernel cpu_naive() {
  Kernel kernel;
  kernel.name = "cpu_naive";
  kernel.summary = "the triple loop on one CPU thread";
  kernel.source = "Matrix Multiplication in CUDA";
  kernel.platform = Platform::cpu;
  kernel.most_products = LARGEST * LARGEST * LARGEST;
  kernel.build(Target::for_host).configurations = [](const Problem&) {
    return std::vector{Configuration{"", 0, multiply}};
  };
  return kernel;
}

const KernelRegistration registered(cpu_naive());

}  // namespace
}  // namespace sgemm
