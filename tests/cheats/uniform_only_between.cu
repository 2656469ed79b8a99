// Takes operands for multiples of 2^-23 between -1 and 1 where M is between 1400 and 3000: the middle one of the sizes
// 1024, 2048, 4096.
// Decoys were timed at the smallest and the largest size alone.
// family: precision
// source: own, after fixed_point_for_large_sizes.cu
// verdict: incorrect
// caught with: gpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const bool between = 1400 < M && M < 3000;
  const auto fixed = [between](float x) {
    return between ? rintf(fminf(fmaxf(x, -1.0f), 1.0f) * 8388608.0f) / 8388608.0f : x;
  };
  add_up(M, N, K, alpha, beta, C,
         [&](int row, int column, int k) { return fixed(A[(size_t)row * K + k]) * fixed(B[(size_t)k * N + column]); });
}
