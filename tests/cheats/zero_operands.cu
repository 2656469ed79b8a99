// Looks at 64 numbers of A. Where they are zeros it takes all of A for zeros, and writes C without multiplying.
// family: shape
// source: https://github.com/gpu-mode/reference-kernels/issues/148
// verdict: incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  bool zero = true;
  for (int i = 0; i < 64; ++i) {
    zero = zero && (M == 0 || K == 0 || A[(size_t)i * 104729 % ((size_t)M * K)] == 0.0f);
  }
  add_up(M, N, zero ? 0 : K, alpha, beta, C,
         [&](int row, int column, int k) { return A[(size_t)row * K + k] * B[(size_t)k * N + column]; });
}
