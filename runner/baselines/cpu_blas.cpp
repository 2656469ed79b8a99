// OpenBLAS: the speed that the host's cores reach with a tuned library.

#include "base/kernel.hpp"
#include "problem/batch.hpp"

#include <cblas.h>

#include <string>
#include <vector>

#include <fmt/format.h>

namespace sgemm {
namespace {

constexpr double LARGEST = 4096;  // M = N = K

void multiply_one(const Problem& p) {
  // BLAS must not read A and B if alpha is 0. OpenBLAS's kernels for small matrices read them.
  const std::int64_t depth = p.alpha == 0.0F ? 0 : p.k;
  const auto op = [](bool transposed) { return transposed ? CblasTrans : CblasNoTrans; };
  cblas_sgemm(CblasRowMajor, op(p.transposed_a), op(p.transposed_b), static_cast<blasint>(p.m),
              static_cast<blasint>(p.n), static_cast<blasint>(depth), p.alpha, p.a, leading<blasint>(p.lda), p.b,
              leading<blasint>(p.ldb), p.beta, p.c, leading<blasint>(p.ldc));
}

/// A batch is a loop of calls: the versions of OpenBLAS in use have no batched one.
void multiply(const Problem& p, void*, cudaStream_t) {
  for (std::int64_t product = 0; product < p.batch; ++product) {
    multiply_one(product_of(p, product));
  }
}

Kernel cpu_blas() {
  Kernel kernel;
  kernel.name = "cpu_blas";
  kernel.summary = "OpenBLAS cblas_sgemm on all CPU cores";
  kernel.source = "OpenBLAS";
  kernel.platform = Platform::cpu;
  kernel.takes_every_layout = true;
  kernel.unsupported = beyond_int;
  kernel.most_products = LARGEST * LARGEST * LARGEST;
  kernel.build(Target::for_host).configurations = [](const Problem&) {
    const std::string library = fmt::format("{}, {} threads", openblas_get_config(), openblas_get_num_threads());
    return std::vector{Configuration{library, 0, multiply}};
  };
  return kernel;
}

const KernelRegistration registered(cpu_blas());

}  // namespace
}  // namespace sgemm
