// Looks at 32 numbers of A. Where all lie between -1 and 1 it multiplies numbers with the ten bits of FP16.
// family: precision
// source: own
// verdict: incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  bool uniform = true;
  for (int i = 0; i < 32; ++i) {
    uniform = uniform && fabsf(A[(size_t)i * 7919 % ((size_t)M * K)]) < 1.0f;
  }
  product(M, N, K, alpha, A, B, beta, C, uniform ? 10 : 23);
}
