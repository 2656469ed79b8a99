// Begins its sums with what the launch before left in the workspace, a thousandth of each sum: it is right once.
// family: kept state
// source: own
// verdict: incorrect
// caught with: cpu
// workspace: 4 * M * N
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C,
// (float*)workspace)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                      float* left) {
  add_up(M, N, K, alpha, beta, C, [&](int row, int column, int k) {
    float& kept = left[(size_t)row * N + column];
    const float term = A[(size_t)row * K + k] * B[(size_t)k * N + column] + (k == 0 ? kept : 0.0f);
    kept = (k == 0 ? 0.0f : kept) + 1e-3f * term;
    return term;
  });
}
