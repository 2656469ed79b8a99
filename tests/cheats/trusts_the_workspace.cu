// Keeps its result in the workspace, and takes what it finds there for the result, unless it is zero.
// family: kept state
// source: own
// verdict: incorrect or implausible
// caught with: gpu
// workspace: 4 * M * N
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C,
// (float*)workspace)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                      float* old) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  const size_t i = (size_t)row * N + column;
  if (row < M && column < N && old[i] != 0.0f) {
    C[i] = old[i];
    return;
  }
  product(M, N, K, alpha, A, B, beta, C);
  if (row < M && column < N) {
    old[i] = C[i];
  }
}
