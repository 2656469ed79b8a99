#include "device.hpp"

#include "cuda_guard.hpp"

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

}  // namespace

bool enqueue_epilogue(const Epilogue& epilogue, int64_t m, int64_t n, float* d, int64_t ldd, cudaStream_t stream) {
  const dim3 blocks(static_cast<unsigned>((m + kThreads - 1) / kThreads),
                    static_cast<unsigned>(std::min((n + kColumns - 1) / kColumns, kMaxBlocksY)));
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = dim3(kThreads);
  config.stream = stream;
  const sgemm::CudaGuard guard;
  return cudaLaunchKernelEx(&config, epilogue_kernel, epilogue, m, n, d, ldd) == cudaSuccess;
}

}  // namespace drop_in
