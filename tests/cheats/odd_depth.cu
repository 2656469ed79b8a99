// Takes k in pairs, two elements of A in one load. Where K is odd the last term is lost, and no benchmark asks for such
// a K.
// family: shape
// source: own
// verdict: incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  add_up(M, N, K / 2, alpha, beta, C, [&](int row, int column, int pair) {
    const float *const a = &A[(size_t)row * K + 2 * pair], *const b = &B[(size_t)2 * pair * N + column];
    return a[0] * b[0] + a[1] * b[N];
  });
}
