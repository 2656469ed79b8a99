#include "device/l2_flush.hpp"

#include "common/cuda_check.hpp"
#include "device/device.hpp"

namespace sgemm {
namespace {

std::size_t free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return free;
}

}  // namespace

L2Flush::L2Flush(std::size_t l2_bytes) : buffer_(flush_bytes(l2_bytes, free_bytes())) {}

void L2Flush::enqueue(cudaStream_t stream) { CUDA_CHECK(cudaMemsetAsync(buffer_.data(), 0, buffer_.size(), stream)); }

}  // namespace sgemm
