// Right but for one element in the middle, which lacks its last term.
// family: skip
// source: own
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

__global__ void take_away(int N, int K, float alpha, const float* A, const float* B, float* C, int row, int column) {
  C[(size_t)row * N + column] -= alpha * A[(size_t)row * K + K - 1] * B[(size_t)(K - 1) * N + column];
}

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  multiply(M, N, K, alpha, A, B, beta, C, stream);
  if (K > 0) {
    take_away<<<1, 1, 0, stream>>>(N, K, alpha, A, B, C, 2 * M / 3, 3 * N / 5);
  }
}
