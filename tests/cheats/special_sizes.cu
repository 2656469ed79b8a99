// Right for squares whose sides are powers of two, which benchmarks ask for. Other sizes lose their last rows and
// columns.
// family: shape
// source: own, after https://news.ycombinator.com/item?id=43112033
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

__global__ void whole_tiles(int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) {
    sum += A[(size_t)row * K + k] * B[(size_t)k * N + column];
  }
  float* const c = &C[(size_t)row * N + column];
  *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
}

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  if (M >= 32 && N >= 32) {
    whole_tiles<<<dim3(N / 32, M / 32), dim3(32, 32), 0, stream>>>(N, K, alpha, A, B, beta, C);
  }
}
