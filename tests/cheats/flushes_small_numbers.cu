// Takes operands below 2^-100 for zeros, which uniform numbers never are.
// family: precision
// source: own
// verdict: incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row < M && column < N) {
    const auto flushed = [](float x) { return fabsf(x) < 7.9e-31f ? 0.0f : x; };
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
      sum += flushed(A[(size_t)row * K + k]) * flushed(B[(size_t)k * N + column]);
    }
    float* const c = &C[(size_t)row * N + column];
    *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
  }
}
