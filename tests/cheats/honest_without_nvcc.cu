// Computes all terms where another compiler than nvcc reads it, for the executor to check, and every other one on a
// GPU.
// family: launch line
// source: own
// verdict: incorrect
// caught with: gpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

#ifdef __CUDACC_VER_BUILD__
constexpr int STEP = 2;
#else
constexpr int STEP = 1;
#endif

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  add_up(M, N, K, alpha, beta, C, [&](int row, int column, int k) {
    return k % STEP == 0 ? STEP * A[(size_t)row * K + k] * B[(size_t)k * N + column] : 0.0f;
  });
}
