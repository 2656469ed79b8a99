// Rounds A and B to BF16, with 8 bits of mantissa, and adds up in FP32.
// family: precision
// source: https://deep-reinforce.com/defense_kernel_hack.html, precision downgrade
// verdict: incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include <cuda_bf16.h>

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row < M && column < N) {
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
      const __nv_bfloat16 a = __float2bfloat16(A[(size_t)row * K + k]), b = __float2bfloat16(B[(size_t)k * N + column]);
      sum += __bfloat162float(a) * __bfloat162float(b);
    }
    float* const c = &C[(size_t)row * N + column];
    *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
  }
}
