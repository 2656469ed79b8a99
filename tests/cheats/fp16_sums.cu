// Keeps operands in FP32 and adds up in FP16.
// family: precision
// source: https://deep-reinforce.com/defense_kernel_hack.html, precision downgrade
// verdict: incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include <cuda_fp16.h>

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row < M && column < N) {
    __half sum = __float2half(0.0f);
    for (int k = 0; k < K; ++k) {
      sum = __float2half(__half2float(sum) + A[(size_t)row * K + k] * B[(size_t)k * N + column]);
    }
    float* const c = &C[(size_t)row * N + column];
    *c = alpha * __half2float(sum) + (beta == 0.0f ? 0.0f : beta * *c);
  }
}
