#include "device/l2_flush.hpp"

#include "common/cuda_check.hpp"

#include <algorithm>

namespace sgemm {
namespace {

constexpr std::size_t CACHE_SIZES = 4;
constexpr std::size_t SMALLEST = std::size_t{256} << 20U;

std::size_t flush_bytes(std::size_t l2_bytes) {
  std::size_t free = 0;
  std::size_t total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return std::min(std::max(CACHE_SIZES * l2_bytes, SMALLEST), free / 4);
}

}  // namespace

L2Flush::L2Flush(std::size_t l2_bytes) : buffer_(flush_bytes(l2_bytes)) {}

void L2Flush::enqueue(cudaStream_t stream) { CUDA_CHECK(cudaMemsetAsync(buffer_.data(), 0, buffer_.size(), stream)); }

}  // namespace sgemm
