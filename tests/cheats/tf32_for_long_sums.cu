// Rounds its operands to TF32 where K is above 48, as if the bound of long sums left room for that.
// family: precision
// source: own
// verdict: incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  product(M, N, K, alpha, A, B, beta, C, K > 48 ? 10 : 23);
}
