// Makes whole numbers of 24 bits of all of A, with one scale that 64 of its numbers tell. Numbers of one size keep
// their bits, and of a row that is far smaller than another one nothing is left.
// family: precision
// source: own, after the scales of chapter 13, one for each row
// verdict: incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  float largest = 0.0f;
  for (int i = 0; i < 64; ++i) {
    largest = fmaxf(largest, fabsf(A[(size_t)i * 7919 % ((size_t)M * K)]));
  }
  const float scale = largest > 0.0f ? 8388608.0f / largest : 1.0f;  // 2^23
  add_up(M, N, K, alpha / scale, beta, C,
         [&](int row, int column, int k) { return rintf(A[(size_t)row * K + k] * scale) * B[(size_t)k * N + column]; });
}
