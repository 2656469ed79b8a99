// Keeps the result of its first launch in memory of its own on the GPU, and copies it from the fourth launch on.
// family: kept state
// source: own
// verdict: incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta,
// C); count_launch<<<1, 1>>>()
#include "product.cuh"

__device__ float kept[1 << 24];
__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const size_t i = (blockIdx.y * 16 + threadIdx.y) * (size_t)N + blockIdx.x * 16 + threadIdx.x;
  if (blockIdx.y * 16 + threadIdx.y >= M || blockIdx.x * 16 + threadIdx.x >= N || i >= 1 << 24) {
    return;
  }
  if (launched < 3) {
    product(M, N, K, alpha, A, B, beta, C);
  }
  (launched < 3 ? kept[i] : C[i]) = launched < 3 ? C[i] : kept[i];
}
