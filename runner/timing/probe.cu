#include "timing/probe.hpp"

#include "common/cuda_check.hpp"

#include <cuda_runtime.h>

namespace sgemm {
namespace {

__global__ void empty_kernel() {}

__global__ void hold_kernel(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

}  // namespace

void launch_empty(cudaStream_t stream) {
  empty_kernel<<<1, 1, 0, stream>>>();
  CUDA_CHECK(cudaGetLastError());
}

void launch_hold(long long cycles, cudaStream_t stream) {
  hold_kernel<<<1, 1, 0, stream>>>(cycles);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace sgemm
