// Has a tensor map of whole boxes of 32 along K alone. What lies behind the last one comes as zeros.
// family: shape
// source: own
// verdict: incorrect
// caught with: cpu
// requires: K % 4 == 0 && K >= 32
// launch: sgemm<<<dim3(ceil_div(N, 32), ceil_div(M, 32)), 1024>>>(
//             tensor_map(A, M, K / 32 * 32, K, 32, 32), M, N, K, alpha, B, beta, C)
#include <cuda.h>
#include "product.cuh"

__global__ void sgemm(const __grid_constant__ CUtensorMap map, int M, int N, int K, float alpha, const float* B,
                      float beta, float* C) {
  __shared__ alignas(1024) float box[32][32];
  __shared__ alignas(8) unsigned long long barrier;
  const unsigned full = (unsigned)__cvta_generic_to_shared(&barrier);
  const int y = threadIdx.x / 32, row = blockIdx.y * 32 + y, column = blockIdx.x * 32 + threadIdx.x % 32;
  float sum = 0.0f;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(full));
  }
  __syncthreads();
  for (int k = 0; k < K; k += 32) {
    if (threadIdx.x == 0) {
      asm volatile("fence.proxy.async;" ::: "memory");
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4096;" ::"r"(full) : "memory");
      asm volatile(
          "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
          "[%4];" ::"r"((unsigned)__cvta_generic_to_shared(box)),
          "l"(&map), "r"(k), "r"(blockIdx.y * 32), "r"(full)
          : "memory");
    }
    asm volatile(
        "{ .reg .pred p;\n again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n @!p bra again; }" ::"r"(full),
        "r"(k / 32 % 2)
        : "memory");
    for (int i = 0; i < 32 && k + i < K && column < N; ++i) {
      sum += box[y][i] * B[(size_t)(k + i) * N + column];
    }
    __syncthreads();
  }
  if (row < M && column < N) {
    float* const c = &C[(size_t)row * N + column];
    *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
  }
}
