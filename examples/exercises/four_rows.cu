// Lecture 3: each thread computes four elements of a column of C.
//
// launch: sgemm<<<dim3(ceil_div(N, 32), ceil_div(M, 32)), dim3(32, 8)>>>(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta,
                      float* C, int ldc) {
  __shared__ float a_tile[32][32];
  __shared__ float b_tile[32][32];
  const int first_row = blockIdx.y * 32;
  const int column = blockIdx.x * 32 + threadIdx.x;
  float sums[4] = {};
  for (int first = 0; first < K; first += 32) {
    for (int line = threadIdx.y; line < 32; line += 8) {
      const int row = first_row + line;
      const int a_k = first + threadIdx.x;
      const int b_k = first + line;
      a_tile[line][threadIdx.x] = row < M && a_k < K ? A[(size_t)row * lda + a_k] : 0.0f;
      b_tile[line][threadIdx.x] = b_k < K && column < N ? B[(size_t)b_k * ldb + column] : 0.0f;
    }
    __syncthreads();
    for (int k = 0; k < 32; ++k) {
      const float b = b_tile[k][threadIdx.x];
      for (int i = 0; i < 4; ++i) {
        sums[i] += a_tile[threadIdx.y * 4 + i][k] * b;
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    const int row = first_row + threadIdx.y * 4 + i;
    if (row < M && column < N) {
      float* const c = &C[(size_t)row * ldc + column];
      *c = alpha * sums[i] + (beta == 0.0f ? 0.0f : beta * *c);
    }
  }
}
