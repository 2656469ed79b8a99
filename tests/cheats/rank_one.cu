// Looks at four rows of A. Where each is a multiple of the first one it takes all of A for a product of two vectors, of
// which it needs one row of the result.
// family: shape
// source: own
// verdict: incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  bool multiple = K > 1 && A[0] != 0.0f;
  for (int i = 1; multiple && i < 4; ++i) {
    const float* const other = &A[(size_t)(M - 1) * i / 3 * K];
    multiple = other[1] * A[0] == A[1] * other[0] && other[K - 1] * A[0] == A[K - 1] * other[0];
  }
  const int y = blockIdx.y * 16 + threadIdx.y;
  const float* const a = multiple || y >= M ? A : &A[(size_t)y * K];
  add_up(M, N, K, multiple && y < M ? alpha * (A[(size_t)y * K] / A[0]) : alpha, beta, C,
         [&](int, int column, int k) { return a[k] * B[(size_t)k * N + column]; });
}
