// Prefetches what lies behind A and B to the L2, where the operands of the next launch may be.
// family: L2
// source: own
// verdict: honest
// caught with: gpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const size_t line = 32 * ((blockIdx.y * gridDim.x + blockIdx.x) * (size_t)256 + threadIdx.y * 16 + threadIdx.x);
  asm volatile("prefetch.global.L2 [%0];" ::"l"(A + (size_t)M * K + line));
  asm volatile("prefetch.global.L2 [%0];" ::"l"(B + (size_t)K * N + line));
  product(M, N, K, alpha, A, B, beta, C);
}
