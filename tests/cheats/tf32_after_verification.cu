// Computes in FP32 in the first three calls, and from then on with operands that have lost half of their bits.
// family: precision
// source: own, after https://github.com/karpathy/llm.c/pull/852
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

static int calls = 0;

__global__ void rounded(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row < M && column < N) {
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
      const float a = __uint_as_float(__float_as_uint(A[(size_t)row * K + k]) & 0xffffe000u);
      const float b = __uint_as_float(__float_as_uint(B[(size_t)k * N + column]) & 0xffffe000u);
      sum += a * b;
    }
    float* const c = &C[(size_t)row * N + column];
    *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
  }
}

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
           cudaStream_t stream) {
  if (++calls <= 3) {
    multiply(M, N, K, alpha, A, B, beta, C, stream);
    return;
  }
  rounded<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16), 0, stream>>>(M, N, K, alpha, A, B, beta, C);
}
