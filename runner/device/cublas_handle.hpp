#pragma once

#include "common/cuda_check.hpp"
#include "common/problem.hpp"
#include "device/device_buffer.hpp"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <map>
#include <memory>
#include <stdexcept>

namespace sgemm {

/// A cuBLAS call that did not succeed.
class CublasError : public std::runtime_error {
 public:
  CublasError(cublasStatus_t status, const char* call);

  cublasStatus_t status() const { return status_; }

 private:
  cublasStatus_t status_;
};

/// Throws CublasError, naming `call`, unless `status` says success.
void cublas_check(cublasStatus_t status, const char* call);

/// This is enough for the split-K and stream-K algorithms of every chip so far (NVIDIA advises 32 MiB for Hopper). All
/// baselines have the same.
constexpr std::size_t CUBLAS_WORKSPACE_BYTES = std::size_t{64} << 20U;

/// The calling thread's handle for the current device, shared while any user of it lives.
template <class Handle>
std::shared_ptr<Handle> shared_handle() {
  thread_local std::map<int, std::weak_ptr<Handle>> living;
  int device = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  std::shared_ptr<Handle> handle = living[device].lock();
  if (!handle) {
    handle = std::make_shared<Handle>();
    living[device] = handle;
  }
  return handle;
}

/// A cuBLAS handle with a workspace of its own, so that no call allocates.
class CublasHandle {
 public:
  static std::shared_ptr<CublasHandle> shared() { return shared_handle<CublasHandle>(); }
  CublasHandle();
  ~CublasHandle();
  CublasHandle(const CublasHandle&) = delete;
  CublasHandle& operator=(const CublasHandle&) = delete;

  /// The handle, set to work on `stream`. cuBLASLt takes it as well, cast to its own type.
  cublasHandle_t on(cudaStream_t stream);
  void* workspace() { return workspace_.data(); }

 private:
  cublasHandle_t handle_ = nullptr;
  cudaStream_t stream_ = nullptr;
  DeviceBuffer<unsigned char> workspace_;
};

/// The operation for an operand that lies transposed in memory, or does not. cuBLAS is column-major and takes each
/// matrix for its transpose. It computes C = op(A) op(B) as C^T = op(B)^T op(A)^T, where the operations are the same.
inline cublasOperation_t cublas_op(bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; }

}  // namespace sgemm
