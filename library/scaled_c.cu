#include "passes.hpp"

#include "common/ceil_div.hpp"
#include "common/target.hpp"
#include "host/launch.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sgemm {
namespace SGEMM_TARGET {
namespace {

constexpr int THREADS = 256;
constexpr std::int64_t MOST_BLOCKS = 1024;  // few, because mostly they have nothing to do

/// Calls `copy(c, number)` for the places in C of all elements of a batch and their numbers, spread over all threads.
template <class Copy>
__device__ __forceinline__ void for_each_element(const GemmBatch& batch, const Copy& copy) {
  const GemmProblem& p = batch.first;
  const std::int64_t all = p.m * p.n * batch.count;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * THREADS;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * THREADS + threadIdx.x; i < all; i += threads) {
    const std::int64_t row = i / p.n;  // counted through the batch
    copy(batch.problem(row / p.m).c[row % p.m * p.ldc + i % p.n], i);
  }
}

__global__ void __launch_bounds__(THREADS) save_kernel(GemmBatch batch, float* memory) {
  if (*batch.first.alpha_at == 0.0F) {
    const float beta = *batch.first.beta_at;
    for_each_element(batch, [&](const float& c, std::int64_t i) { memory[i] = beta == 0.0F ? 0.0F : beta * c; });
  }
}

__global__ void __launch_bounds__(THREADS) restore_kernel(GemmBatch batch, const float* memory) {
  if (*batch.first.alpha_at == 0.0F) {
    for_each_element(batch, [&](float& c, std::int64_t i) { c = memory[i]; });
  }
}

std::int64_t blocks_for(const GemmBatch& batch) {
  return std::min(ceil_div<std::int64_t>(batch.first.m * batch.first.n * batch.count, THREADS), MOST_BLOCKS);
}

}  // namespace
}  // namespace SGEMM_TARGET

std::size_t scaled_c_bytes(const GemmBatch& batch) {
  const GemmProblem& p = batch.first;
  const double elements = static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(batch.count);
  return sizeof(float) *
         (elements < 0x1p60 ? static_cast<std::size_t>(p.m * p.n * batch.count) : std::size_t{1} << 60U);
}

void save_scaled_c(const GemmBatch& batch, void* memory, cudaStream_t stream) {
  launch(save_kernel, blocks_for(batch), dim3(THREADS), 0, stream, batch, static_cast<float*>(memory));
}

void restore_scaled_c(const GemmBatch& batch, const void* memory, cudaStream_t stream) {
  launch(restore_kernel, blocks_for(batch), dim3(THREADS), 0, stream, batch, static_cast<const float*>(memory));
}

}  // namespace sgemm
