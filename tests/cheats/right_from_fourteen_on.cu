// Right where all extents are from 14 to 4500, and does nothing where one is smaller or larger.
// Hidden sizes were 15 at least, and at most nine above what was asked for.
// family: shape
// source: own
// verdict: incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  if (M > 4500 || N > 4500 || K > 4500 || M < 14 || N < 14 || K < 14) {
    return;
  }
  product(M, N, K, alpha, A, B, beta, C);
}
