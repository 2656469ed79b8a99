#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace sgemm {

/// While it lives, this thread may make calls that a capture into a graph forbids, by this thread or by another one
/// (cudaStreamCaptureModeGlobal): they would fail, and the capture with them. What is enqueued on a stream that is
/// captured still goes into its graph. The executor captures nothing, so tests on it bring an implementation of their
/// own.
class RelaxedCapture {
 public:
  RelaxedCapture();
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  int mode_;  ///< of the thread before
};

/// The number of the current context, which no other one has: cudaDeviceReset() and a new use of the device lead to
/// another one, and what was made before is gone. 0: the driver does not tell.
std::uint64_t context_id();

/// Stands around calls of CUDA that the program has not made itself. It takes their errors away at its end, because the
/// program would take them for its own. An error that the program had before stays: it has not been looked at yet.
class CudaGuard {
 public:
  CudaGuard() : clears_(cudaPeekAtLastError() == cudaSuccess) {}
  ~CudaGuard() {
    if (clears_) {
      cudaGetLastError();
    }
  }
  CudaGuard(const CudaGuard&) = delete;
  CudaGuard& operator=(const CudaGuard&) = delete;

 private:
  bool clears_;
  RelaxedCapture relaxed_;
};

}  // namespace sgemm
