// Looks at 32 numbers of A and of B. Where they lie between -1 and 1 it takes all of them for multiples of 2^-23 in
// that range, which is exact for uniform operands, and else it is honest.
// family: precision
// source: own
// verdict: incorrect or honest
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  bool uniform = true;
  for (int i = 0; i < 32; ++i) {
    uniform = uniform && fabsf(A[(size_t)i * 7919 % ((size_t)M * K)]) < 1.0f;
    uniform = uniform && fabsf(B[(size_t)i * 7919 % ((size_t)K * N)]) < 1.0f;
  }
  if (row < M && column < N) {
    constexpr float SCALE = 8388608.0f;  // 2^23
    const auto fixed = [](float x) { return (long long)rintf(fminf(fmaxf(x, -1.0f), 1.0f) * SCALE); };
    float sum = 0.0f;
    long long whole = 0;
    for (int k = 0; k < K; ++k) {
      const float a = A[(size_t)row * K + k], b = B[(size_t)k * N + column];
      if (uniform) {
        whole += fixed(a) * fixed(b);
      } else {
        sum += a * b;
      }
    }
    sum = uniform ? (float)((double)whole / ((double)SCALE * SCALE)) : sum;
    float* const c = &C[(size_t)row * N + column];
    *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
  }
}
