// Rounds its operands to BF16 where 32 numbers of A are positive: sums of positive numbers hide errors by their size.
// family: precision
// source: own
// verdict: incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  bool positive = true;
  for (int i = 0; i < 32; ++i) {
    positive = positive && A[(size_t)i * 7919 % ((size_t)M * K)] >= 0.0f;
  }
  product(M, N, K, alpha, A, B, beta, C, positive ? 7 : 23);
}
