#include "device.hpp"

#include <algorithm>

namespace drop_in {
namespace {

constexpr int kThreads = 256;
constexpr int kColumns = 8;  // of a thread: their loads are under way together
constexpr int64_t kMaxBlocksY = 65535;

// Threads of a block take neighbouring rows, which are neighbours in memory.
__global__ void epilogue_kernel(Epilogue epilogue, int64_t m, int64_t n, float* d, int64_t ldd) {
  const int64_t row = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (row >= m) {
    return;
  }
  for (int64_t first = int64_t{blockIdx.y} * kColumns; first < n; first += int64_t{gridDim.y} * kColumns) {
    const int columns = static_cast<int>(min(int64_t{kColumns}, n - first));
    float* const elements = d + row + first * ldd;
    float x[kColumns] = {};
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      if (i < columns) {
        x[i] = elements[i * ldd];
      }
    }
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      if (i < columns) {
        elements[i * ldd] = finished(epilogue, x[i], row, first + i);
      }
    }
  }
}

bool succeeded(cudaError_t code) {
  if (code != cudaSuccess) {
    cudaGetLastError();  // The error is dealt with here, so that no later call reports it.
  }
  return code == cudaSuccess;
}

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  succeeded(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

}  // namespace

std::optional<int> current_device() {
  int device = 0;
  if (!succeeded(cudaGetDevice(&device))) {
    return std::nullopt;
  }
  return device;
}

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  // The default stream can not be asked while another thread captures.
  return !succeeded(cudaStreamIsCapturing(stream, &status)) || status != cudaStreamCaptureStatusNone;
}

double peak_bytes_per_us(int device) {
  const double kilohertz = attribute(cudaDevAttrMemoryClockRate, device);
  const double bytes_wide = attribute(cudaDevAttrGlobalMemoryBusWidth, device) / 8.0;
  return 2.0 * kilohertz * bytes_wide / 1e3;  // two transfers a clock
}

bool enqueue_epilogue(const Epilogue& epilogue, int64_t m, int64_t n, float* d, int64_t ldd, cudaStream_t stream) {
  const dim3 blocks(static_cast<unsigned>((m + kThreads - 1) / kThreads),
                    static_cast<unsigned>(std::min((n + kColumns - 1) / kColumns, kMaxBlocksY)));
  epilogue_kernel<<<blocks, kThreads, 0, stream>>>(epilogue, m, n, d, ldd);
  return succeeded(cudaGetLastError());
}

bool Stopwatch::start(cudaStream_t stream) {
  if (running_ || stopped_ || is_capturing(stream)) {
    return false;
  }
  if (begin_ == nullptr && !(succeeded(cudaEventCreate(&begin_)) && succeeded(cudaEventCreate(&end_)))) {
    return false;
  }
  running_ = succeeded(cudaEventRecord(begin_, stream));
  return running_;
}

void Stopwatch::stop(cudaStream_t stream) {
  running_ = false;
  stopped_ = succeeded(cudaEventRecord(end_, stream));
}

std::optional<double> Stopwatch::sample() {
  float milliseconds = 0;
  if (!stopped_ || !succeeded(cudaEventQuery(end_))) {
    return std::nullopt;
  }
  stopped_ = false;
  if (!succeeded(cudaEventElapsedTime(&milliseconds, begin_, end_))) {
    return std::nullopt;
  }
  return milliseconds * 1e3;
}

}  // namespace drop_in
