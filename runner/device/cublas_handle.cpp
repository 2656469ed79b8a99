#include "device/cublas_handle.hpp"

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

cublasHandle_t CublasHandle::on(cudaStream_t stream) {
  if (stream != stream_) {
    cublas_check(cublasSetStream(handle_, stream), "cublasSetStream");
    // Setting the stream also resets the workspace to cuBLAS's own.
    cublas_check(cublasSetWorkspace(handle_, workspace_.data(), workspace_.size()), "cublasSetWorkspace");
    stream_ = stream;
  }
  return handle_;
}

}  // namespace sgemm
