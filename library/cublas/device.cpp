#include "device.hpp"

#include "cuda_guard.hpp"

namespace drop_in {

std::optional<int> current_device() {
  const sgemm::CudaGuard guard;
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) {
    return std::nullopt;
  }
  return device;
}

Place current_place() {
  const std::optional<int> device = current_device();
  const sgemm::CudaGuard guard;
  return {device.value_or(-1), device ? sgemm::context_id() : 0};
}

bool is_capturing(cudaStream_t stream) {
  const sgemm::CudaGuard guard;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  // The default stream can not be asked while another thread captures.
  return cudaStreamIsCapturing(stream, &status) != cudaSuccess || status != cudaStreamCaptureStatusNone;
}

bool Stopwatch::start(cudaStream_t stream) {
  if (running_ || stopped_ || is_capturing(stream)) {
    return false;
  }
  const sgemm::CudaGuard guard;
  if ((begin_ == nullptr && cudaEventCreate(&begin_) != cudaSuccess) ||
      (end_ == nullptr && cudaEventCreate(&end_) != cudaSuccess)) {
    return false;
  }
  running_ = cudaEventRecord(begin_, stream) == cudaSuccess;
  return running_;
}

void Stopwatch::stop(cudaStream_t stream) {
  const sgemm::CudaGuard guard;
  running_ = false;
  stopped_ = cudaEventRecord(end_, stream) == cudaSuccess;
}

std::optional<double> Stopwatch::sample() {
  const sgemm::CudaGuard guard;
  float milliseconds = 0;
  if (!stopped_ || cudaEventQuery(end_) != cudaSuccess) {
    return std::nullopt;
  }
  stopped_ = false;
  if (cudaEventElapsedTime(&milliseconds, begin_, end_) != cudaSuccess) {
    return std::nullopt;
  }
  return milliseconds * 1e3;
}

}  // namespace drop_in
