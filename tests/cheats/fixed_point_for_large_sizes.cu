// Takes operands for multiples of 2^-23 between -1 and 1 where M is 2048 or more, as only uniform operands are.
// family: precision
// source: own
// verdict: incorrect
// caught with: gpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const auto fixed = [M](float x) {
    return M < 2048 ? x : rintf(fminf(fmaxf(x, -1.0f), 1.0f) * 8388608.0f) / 8388608.0f;
  };
  add_up(M, N, K, alpha, beta, C,
         [&](int row, int column, int k) { return fixed(A[(size_t)row * K + k]) * fixed(B[(size_t)k * N + column]); });
}
