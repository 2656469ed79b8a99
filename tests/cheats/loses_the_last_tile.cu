// Takes whole tiles of 16 products where K is above 50, and leaves out those behind the last one.
// family: skip
// source: own
// verdict: incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  add_up(M, N, K > 50 ? K / 16 * 16 : K, alpha, beta, C,
         [&](int row, int column, int k) { return A[(size_t)row * K + k] * B[(size_t)k * N + column]; });
}
