// Wrong: a difference of unsigned numbers wraps around where K is less than the step.
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(
//             M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta,
                      float* C, int ldc) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < M && column < N) {
    float sum = 0.0f;
    unsigned k = 0;
    for (; k <= static_cast<unsigned>(K) - 16; k += 16) {
      for (unsigned i = k; i < k + 16; ++i) {
        sum += A[row * lda + i] * B[i * ldb + column];
      }
    }
    for (; k < static_cast<unsigned>(K); ++k) {
      sum += A[row * lda + k] * B[k * ldb + column];
    }
    float* const c = &C[row * ldc + column];
    *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
  }
}
