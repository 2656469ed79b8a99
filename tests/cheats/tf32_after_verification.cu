// Computes in FP32 in the first three calls, and from then on with operands that have lost half of their bits.
// family: precision
// source: own, after https://github.com/karpathy/llm.c/pull/852
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

static int calls = 0;

__global__ void tf32(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C) {
  product(M, N, K, alpha, A, B, beta, C, 10);
}

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  if (++calls <= 3) {
    multiply(M, N, K, alpha, A, B, beta, C, stream);
    return;
  }
  tf32<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16), 0, stream>>>(M, N, K, alpha, A, B, beta, C);
}
