// cublasXt: one product on all GPUs of the machine, with operands and result in the host's memory. What it takes has
// the copies in it, so it is timed by the host's clock, as CPU kernels are.
//
// Operands change places for the reason that cublas.cpp gives.

#include "base/kernel.hpp"
#include "base/outcome.hpp"
#include "common/cuda_check.hpp"
#include "device/cublas_handle.hpp"

#include <cublasXt.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace sgemm {
namespace {

/// The host's memory that a kernel works on, page-locked, so that GPUs copy from and to it at the speed of their links.
class PageLocked {
 public:
  PageLocked() = default;
  ~PageLocked() {
    for (const auto& [begin, bytes] : regions_) {
      cudaHostUnregister(begin);
    }
  }
  PageLocked(const PageLocked&) = delete;
  PageLocked& operator=(const PageLocked&) = delete;

  /// Locks the pages unless they are. The first call for a region takes long.
  void lock(const float* begin, std::int64_t floats) {
    auto* const region = const_cast<float*>(begin);  // not written to
    if (floats == 0 || !regions_.emplace(region, floats).second) {
      return;
    }
    const cudaError_t status =
        cudaHostRegister(region, static_cast<std::size_t>(floats) * sizeof(float), cudaHostRegisterPortable);
    if (status == cudaErrorHostMemoryAlreadyRegistered) {
      cudaGetLastError();  // small matrices share a page
    } else {
      CUDA_CHECK(status);
    }
  }

 private:
  std::map<float*, std::int64_t> regions_;
};

/// cublasXt on all GPUs, and the pages that it has locked.
class Xt {
 public:
  explicit Xt(int block) {
    if (cudaGetDeviceCount(&gpus_) != cudaSuccess || gpus_ == 0) {
      cudaGetLastError();
      throw CaseStopped(Outcome::not_supported, "needs a GPU");
    }
    cublas_check(cublasXtCreate(&handle_), "cublasXtCreate");
    std::vector<int> all(static_cast<std::size_t>(gpus_));
    std::iota(all.begin(), all.end(), 0);
    cublas_check(cublasXtDeviceSelect(handle_, gpus_, all.data()), "cublasXtDeviceSelect");
    cublas_check(cublasXtSetBlockDim(handle_, block), "cublasXtSetBlockDim");
  }
  ~Xt() { cublasXtDestroy(handle_); }
  Xt(const Xt&) = delete;
  Xt& operator=(const Xt&) = delete;

  int gpus() const { return gpus_; }

  /// Returns when C is there.
  void sgemm(const Problem& p) {
    pages_.lock(p.a, p.m * p.lda);
    pages_.lock(p.b, p.k * p.ldb);
    pages_.lock(p.c, p.m * p.ldc);
    const auto size = [](std::int64_t extent) { return static_cast<std::size_t>(extent); };
    const auto leading = [](std::int64_t distance) {
      return static_cast<std::size_t>(std::max<std::int64_t>(distance, 1));
    };
    cublas_check(cublasXtSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, size(p.n), size(p.m), size(p.k), &p.alpha, p.b,
                               leading(p.ldb), p.a, leading(p.lda), &p.beta, p.c, leading(p.ldc)),
                 "cublasXtSgemm");
  }

 private:
  int gpus_ = 0;
  cublasXtHandle_t handle_ = nullptr;
  PageLocked pages_;
};

/// A GPU gets blocks of so many rows and columns at a time.
Kernel cublasxt(const std::string& variant, int block) {
  Kernel kernel;
  kernel.name = "cublasxt";
  kernel.variant = variant;
  kernel.summary = fmt::format("cublasXtSgemm on all GPUs, from and to the host's memory, blocks of {}", block);
  kernel.source = "NVIDIA cuBLAS";
  kernel.platform = Platform::cpu;
  kernel.min_compute_capability = 75;
  kernel.build(Target::for_host).configurations = [block](const Problem&) {
    const auto xt = std::make_shared<Xt>(block);
    const std::string name = fmt::format("{} GPUs, page-locked memory", xt->gpus());
    return std::vector{Configuration{name, 0, [xt](const Problem& p, void*, cudaStream_t) { xt->sgemm(p); }}};
  };
  return kernel;
}

const KernelRegistration registered(cublasxt("", 1024));  // the library's own choice
const KernelRegistration registered_large(cublasxt("blocks_of_4096", 4096));

}  // namespace
}  // namespace sgemm
