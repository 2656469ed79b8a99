#pragma once

#include "gemm_call.hpp"
#include "idle.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace sgemm {

/// cuBLAS in FP32, on the current device. All functions throw StatusError. The executor has none, so tests on it bring
/// an implementation of their own.
class Blas {
 public:
  /// 10000 * major + 100 * minor + patch, and its file; 0 and "" where there is none.
  static int version();
  static const char* path();

  /// In a context (cuda_guard.hpp).
  explicit Blas(std::uint64_t context);
  ~Blas();

  /// Before products and set_stream(): makes the handle of cuBLAS, unless it is there. False: there is no cuBLAS, or
  /// the stream is captured, and what makes a handle would break the capture.
  bool make_ready(cudaStream_t stream);
  /// The stream of the products that follow, and the memory that they may work in; null for cuBLAS's own. Costs nothing
  /// where both stay as they are.
  void set_stream(cudaStream_t stream, void* workspace, std::size_t workspace_bytes);
  /// How many multiprocessors products may occupy; 0 for all.
  void set_multiprocessors(int count);
  /// Enqueues all products of a batch. Sums may be empty, alpha 0, and sizes beyond 2^31.
  void gemm(const GemmBatch& batch);

 private:
  struct Handle;
  /// Handles of cuBLAS that nobody uses. None is ever destroyed: cublasDestroy() waits for the whole device, which
  /// breaks captures of other threads.
  static Idle<std::unique_ptr<Handle>>& idle();
  std::uint64_t context_;
  int multiprocessors_ = 0;
  std::unique_ptr<Handle> handle_;
};

}  // namespace sgemm
