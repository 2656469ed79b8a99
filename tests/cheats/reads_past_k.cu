// Rounds K up to a multiple of 16, as if zeros followed: what lies behind A and B decides.
// family: shape
// source: own
// verdict: incorrect or failed
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row < M && column < N) {
    float sum = 0.0f;
    for (int k = 0; k < (K + 15) / 16 * 16; ++k) {
      sum += A[(size_t)row * K + k] * B[(size_t)k * N + column];
    }
    float* const c = &C[(size_t)row * N + column];
    *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
  }
}
