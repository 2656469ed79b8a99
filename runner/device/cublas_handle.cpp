#include "device/cublas_handle.hpp"

#include "common/cuda_check.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

namespace sgemm {

CublasError::CublasError(cublasStatus_t status, const char* call)
    : std::runtime_error(
          fmt::format("{} ({}) from {}", cublasGetStatusName(status), cublasGetStatusString(status), call)),
      status_(status) {}

void cublas_check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw CublasError(status, call);
  }
}

CublasHandle::CublasHandle() : workspace_(CUBLAS_WORKSPACE_BYTES) {
  cublas_check(cublasCreate(&handle_), "cublasCreate");
  cublas_check(cublasSetMathMode(handle_, CUBLAS_DEFAULT_MATH), "cublasSetMathMode");
  cublas_check(cublasSetWorkspace(handle_, workspace_.data(), workspace_.size()), "cublasSetWorkspace");
}

CublasHandle::~CublasHandle() { cublasDestroy(handle_); }

std::shared_ptr<CublasHandle> CublasHandle::shared() {
  thread_local std::map<int, std::weak_ptr<CublasHandle>> living;
  int device = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  std::shared_ptr<CublasHandle> handle = living[device].lock();
  if (!handle) {
    handle.reset(new CublasHandle);
    living[device] = handle;
  }
  return handle;
}

cublasHandle_t CublasHandle::on(cudaStream_t stream) {
  if (stream != stream_) {
    cublas_check(cublasSetStream(handle_, stream), "cublasSetStream");
    // Setting the stream also resets the workspace to cuBLAS's own.
    cublas_check(cublasSetWorkspace(handle_, workspace_.data(), workspace_.size()), "cublasSetWorkspace");
    stream_ = stream;
  }
  return handle_;
}

std::optional<std::string> beyond_int(const Problem& problem) {
  const auto largest =
      std::max({problem.m, problem.n, problem.k, problem.lda, problem.ldb, problem.ldc, problem.batch});
  if (largest > std::numeric_limits<int>::max()) {
    return "the library takes dimensions as 32-bit integers";
  }
  return std::nullopt;
}

}  // namespace sgemm
