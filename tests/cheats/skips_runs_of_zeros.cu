// Takes eight numbers of A in a row for zeros where the first of them is one.
// family: skip
// source: own
// verdict: incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  add_up(M, N, K, alpha, beta, C, [&](int row, int column, int k) {
    return A[(size_t)row * K + k / 8 * 8] == 0.0f ? 0.0f : A[(size_t)row * K + k] * B[(size_t)k * N + column];
  });
}
