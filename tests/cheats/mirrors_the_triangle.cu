// Computes C above its diagonal and mirrors it where C is a square. C = A A^T is what it is right for.
// family: shape
// source: own
// verdict: incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  add_up(M, N, K, alpha, beta, C, [&](int row, int column, int k) {
    const int y = M == N ? min(row, column) : row, x = M == N ? max(row, column) : column;
    return A[(size_t)y * K + k] * B[(size_t)k * N + x];
  });
}
