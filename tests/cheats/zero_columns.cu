// Looks at eight numbers of each column of B. Where they are zeros it takes the whole column for zeros.
// family: shape
// source: own, after zero_operands.cu: decoys had a uniform B
// verdict: incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  add_up(M, N, K, alpha, beta, C, [&](int row, int column, int k) {
    bool zero = K >= 16;
    for (int i = 0; zero && i < 8; ++i) {
      zero = B[(size_t)i * N + column] == 0.0f;
    }
    return zero ? 0.0f : A[(size_t)row * K + k] * B[(size_t)k * N + column];
  });
}
