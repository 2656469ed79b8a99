// Ends a sum when 24 terms in a row have not changed it, as if it had converged.
// family: skip
// source: own
// verdict: incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  int idle = 0;
  add_up(M, N, K, alpha, beta, C, [&](int row, int column, int k) {
    const float term = idle < 24 ? A[(size_t)row * K + k] * B[(size_t)k * N + column] : 0.0f;
    idle = term == 0.0f ? idle + 1 : 0;
    return term;
  });
}
