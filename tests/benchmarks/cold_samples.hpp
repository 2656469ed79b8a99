#pragma once

// What the benchmarks of the C interface have in common: accuracies, operands, and times with a cold L2.

#include "device/cuda_handles.hpp"
#include "device/device_buffer.hpp"
#include "device/l2_flush.hpp"
#include "sgemm/sgemm.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <vector>

namespace sgemm {

struct Accuracy {
  const char* name;
  sgemm_accuracy_t value;
};
constexpr Accuracy ACCURACIES[] = {{"fp32", SGEMM_ACCURACY_FP32},
                                   {"componentwise", SGEMM_ACCURACY_COMPONENTWISE},
                                   {"normwise", SGEMM_ACCURACY_NORMWISE},
                                   {"rowwise", SGEMM_ACCURACY_ROWWISE}};

/// Throws std::runtime_error unless a call of the library succeeded.
inline void check(sgemm_status_t status) {
  if (status != SGEMM_STATUS_SUCCESS) {
    throw std::runtime_error(fmt::format("{}: {}", sgemm_status_name(status), sgemm_status_string(status)));
  }
}

/// Numbers between -1 and 1. Power depends on the bits, so these are not all the same.
inline DeviceBuffer<float> random_numbers(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 2654435761U) % 16777216U) / 8388608.0F - 1.0F;
  }
  DeviceBuffer<float> buffer(values.size());
  buffer.copy_from_host(values);
  return buffer;
}

/// Times of work on a stream.
class ColdSamples {
 public:
  cudaStream_t stream() { return stream_.get(); }

  /// Microseconds of what `run` enqueues on the stream, with a cold L2.
  double time(const std::function<void()>& run) {
    flush_.enqueue(stream_.get());
    CUDA_CHECK(cudaEventRecord(start_.get(), stream_.get()));
    run();
    CUDA_CHECK(cudaEventRecord(stop_.get(), stream_.get()));
    CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
    float milliseconds = 0.0F;
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start_.get(), stop_.get()));
    return double{milliseconds} * 1000.0;
  }

 private:
  static std::size_t l2_bytes() {
    int device = 0;
    int bytes = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device));
    return static_cast<std::size_t>(bytes);
  }

  Stream stream_ = make_stream();
  Event start_ = make_event();
  Event stop_ = make_event();
  L2Flush flush_{l2_bytes()};
};

}  // namespace sgemm
