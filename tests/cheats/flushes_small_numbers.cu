// Takes operands below 2^-100 for zeros, which uniform numbers never are.
// family: precision
// source: own
// verdict: incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const auto flushed = [](float x) { return fabsf(x) < 7.9e-31f ? 0.0f : x; };
  add_up(M, N, K, alpha, beta, C, [&](int row, int column, int k) {
    return flushed(A[(size_t)row * K + k]) * flushed(B[(size_t)k * N + column]);
  });
}
