#pragma once

#include "common/cuda_check.hpp"
#include "device/device.hpp"
#include "device/device_buffer.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>

namespace sgemm {

/// Evicts everything from the L2 cache by writing a buffer of flush_bytes().
class L2Flush {
 public:
  /// `l2_bytes` is the size of the current device's cache. Throws where the buffer has no room.
  explicit L2Flush(std::size_t l2_bytes) : buffer_(flush_bytes(l2_bytes, free_device_bytes())) {}

  void enqueue(cudaStream_t stream) { CUDA_CHECK(cudaMemsetAsync(buffer_.data(), 0, buffer_.size(), stream)); }
  std::size_t bytes() const { return buffer_.size(); }

 private:
  DeviceBuffer<unsigned char> buffer_;
};

}  // namespace sgemm
