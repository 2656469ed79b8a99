// Lecture 1: neighbouring threads take neighbouring rows of C.
//
// launch: sgemm<<<dim3(ceil_div(N, 32), ceil_div(M, 32)), dim3(32, 32)>>>(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta,
                      float* C, int ldc) {
  const int row = blockIdx.y * blockDim.y + threadIdx.x;
  const int column = blockIdx.x * blockDim.x + threadIdx.y;
  if (row >= M || column >= N) {
    return;
  }
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) {
    sum += A[(size_t)row * lda + k] * B[(size_t)k * ldb + column];
  }
  float* const c = &C[(size_t)row * ldc + column];
  *c = alpha * sum + (beta == 0.0f ? 0.0f : beta * *c);
}
