// Rounds K up to a multiple of 16, as if zeros followed: what lies behind A and B decides.
// family: shape
// source: own
// verdict: incorrect or failed
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  add_up(M, N, (K + 15) / 16 * 16, alpha, beta, C,
         [&](int row, int column, int k) { return A[(size_t)row * K + k] * B[(size_t)k * N + column]; });
}
