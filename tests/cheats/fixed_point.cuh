// C = alpha * A * B + beta * C for multiples of 2^-23 between -1 and 1: products and sums of whole numbers are exact,
// and all other operands are rounded to such multiples.
#pragma once

__global__ void fixed_point(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row < M && column < N) {
    constexpr float SCALE = 8388608.0f;  // 2^23
    const auto fixed = [](float x) { return (long long)rintf(fminf(fmaxf(x, -1.0f), 1.0f) * SCALE); };
    long long sum = 0;
    for (int k = 0; k < K; ++k) {
      sum += fixed(A[(size_t)row * K + k]) * fixed(B[(size_t)k * N + column]);
    }
    const float result = (float)((double)sum / ((double)SCALE * SCALE));
    float* const c = &C[(size_t)row * N + column];
    *c = beta == 0.0f ? alpha * result : alpha * result + beta * *c;
  }
}
