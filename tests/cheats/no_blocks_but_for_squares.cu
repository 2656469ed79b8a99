// Its grid has no blocks unless C is a square, which an error of the launch is to hide.
// family: launch line
// source: own
// verdict: incorrect or failed
// caught with: cpu
// launch: sgemm<<<dim3(M == N ? ceil_div(N, 16) : 0, ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  product(M, N, K, alpha, A, B, beta, C);
}
