#pragma once

#include "common/cuda_check.hpp"
#include "device/device.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace sgemm {

/// Memory of the current device that nobody has.
inline std::size_t free_device_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return free;
}

/// `size` elements of T in the memory of the current device, freed with the buffer. Contents start undefined.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;

  /// Throws CudaError (cudaErrorMemoryAllocation) when the device has no room.
  explicit DeviceBuffer(std::size_t size) : size_(size) {
    if (size == 0) {
      return;
    }
    try {
      CUDA_CHECK(cudaMalloc(reinterpret_cast<void**>(&data_), size * sizeof(T)));
    } catch (const CudaError&) {
      // The device stays usable without room, but the next launch check would report this error again.
      cudaGetLastError();
      throw;
    }
  }

  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    DeviceBuffer taken(std::move(other));
    std::swap(data_, taken.data_);
    std::swap(size_, taken.size_);
    return *this;
  }

  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  /// Waits for the work on the device, as cudaFree does.
  ~DeviceBuffer() { cudaFree(data_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }  ///< in elements

  /// Fills the whole buffer. Throws std::length_error when the sizes differ, CudaError when the copy fails.
  void copy_from_host(const std::vector<T>& host) {
    if (host.size() != size_) {
      throw std::length_error("a device buffer was filled from a vector of another size");
    }
    if (size_ != 0) {
      CUDA_CHECK(cudaMemcpy(data_, host.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
    }
  }

  /// Copies the whole buffer and makes `host` as long. Waits for earlier work on the default stream.
  void copy_to_host(std::vector<T>& host) const {
    host.resize(size_);
    if (size_ != 0) {
      CUDA_CHECK(cudaMemcpy(host.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
    }
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Evicts everything from the L2 cache of the current device by writing a buffer of flush_bytes().
class L2Flush {
 public:
  /// Throws where the buffer has no room.
  L2Flush() : buffer_(flush_bytes(l2_bytes(), free_device_bytes())) {}

  void enqueue(cudaStream_t stream) { CUDA_CHECK(cudaMemsetAsync(buffer_.data(), 0, buffer_.size(), stream)); }
  std::size_t bytes() const { return buffer_.size(); }

 private:
  static std::size_t l2_bytes() {
    int device = 0;
    int bytes = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device));
    return static_cast<std::size_t>(bytes);
  }

  DeviceBuffer<unsigned char> buffer_;
};

}  // namespace sgemm
