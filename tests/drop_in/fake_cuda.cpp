// CUDA's runtime for the tests.

#include "fake_cuda.hpp"

#include <utility>

FakeCuda* fake_cuda() {
  static auto* const fake = new FakeCuda;
  return fake;
}

struct CUevent_st {
  int device;
  int records = 0;
};

namespace {

thread_local cudaStreamCaptureMode mode_of_thread = cudaStreamCaptureModeGlobal;

cudaError_t result(cudaError_t error) {
  if (error != cudaSuccess) {
    fake_cuda()->error = error;
  }
  return error;
}

/// Of a call that may do what a capture forbids.
cudaError_t unsafe() {
  FakeCuda& fake = *fake_cuda();
  if (fake.captured.empty() || mode_of_thread == cudaStreamCaptureModeRelaxed) {
    return cudaSuccess;
  }
  ++fake.broken_captures;
  return result(cudaErrorStreamCaptureUnsupported);
}

}  // namespace

cudaError_t cudaGetLastError() { return std::exchange(fake_cuda()->error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return fake_cuda()->error; }

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, mode_of_thread);
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const bool captured = fake_cuda()->captured.count(stream) > 0;
  *status = captured ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  // The default stream waits for others, so that nothing can be said of it while one is captured.
  return stream == nullptr && !captured && !fake_cuda()->captured.empty() ? result(cudaErrorStreamCaptureImplicit)
                                                                          : cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  ++fake_cuda()->calls;
  *device = fake_cuda()->device;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
  // 1e3 bytes a microsecond
  *value = which == cudaDevAttrMemoryClockRate ? 500 : which == cudaDevAttrGlobalMemoryBusWidth ? 8000 : 0;
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new CUevent_st{fake_cuda()->device};
  return cudaSuccess;
}

// Streams of tests are of the device that is current.
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  ++fake_cuda()->calls;
  if (event->device != fake_cuda()->device) {
    return result(cudaErrorInvalidResourceHandle);
  }
  ++event->records;
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t) {
  ++fake_cuda()->calls;
  return unsafe();
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t) {
  *milliseconds = static_cast<float>(begin->records == 1 ? FakeCuda::FIRST_MS : FakeCuda::LATER_MS);
  return unsafe();
}
