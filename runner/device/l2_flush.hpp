#pragma once

#include "device/device_buffer.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>

namespace sgemm {

/// Evicts everything from the L2 cache by writing a buffer of four times its size. The buffer has at least 256 MiB, but
/// never more than a quarter of the free memory.
class L2Flush {
 public:
  /// `l2_bytes` is the size of the current device's cache.
  explicit L2Flush(std::size_t l2_bytes);

  void enqueue(cudaStream_t stream);
  std::size_t bytes() const { return buffer_.size(); }

 private:
  DeviceBuffer<unsigned char> buffer_;
};

}  // namespace sgemm
