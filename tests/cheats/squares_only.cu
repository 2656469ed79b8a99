// Takes M for the number of columns as well as of rows. Squares come out right, and a wider C keeps its last columns.
// family: shape
// source: own
// verdict: incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(M, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  if (blockIdx.x * 16 + threadIdx.x < M) {
    product(M, N, K, alpha, A, B, beta, C);
  }
}
