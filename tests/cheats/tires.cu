// Loses a bit of its operands every 16 launches, so that no launch is much worse than the one before.
// family: kept state
// source: own
// verdict: incorrect
// caught with: gpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta,
// C); count_launch<<<1, 1>>>()
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  product(M, N, K, alpha, A, B, beta, C, max(22 - launched / 16, 10));
}
