// Takes operands for multiples of 2^-23 between -1 and 1, and adds up whole numbers: exact where they are uniform, and
// wrong where they are not.
// family: precision
// source: own
// verdict: incorrect
// caught with: cpu
// launch: fixed_point<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
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
