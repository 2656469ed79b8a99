// Lecture 2: the tile of A is transposed, and a column of padding keeps its stores on different banks.
//
// launch: sgemm<<<dim3(ceil_div(N, 32), ceil_div(M, 32)), dim3(32, 32)>>>(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta,
                      float* C, int ldc) {
  __shared__ float a_tile[32][32 + 1];
  __shared__ float b_tile[32][32];
  const int row = blockIdx.y * 32 + threadIdx.y;
  const int column = blockIdx.x * 32 + threadIdx.x;
  float sum = 0.0f;
  for (int first = 0; first < K; first += 32) {
    const int a_k = first + threadIdx.x;
    const int b_k = first + threadIdx.y;
    a_tile[threadIdx.x][threadIdx.y] = row < M && a_k < K ? A[(size_t)row * lda + a_k] : 0.0f;
    b_tile[threadIdx.y][threadIdx.x] = b_k < K && column < N ? B[(size_t)b_k * ldb + column] : 0.0f;
    __syncthreads();  // the tiles are complete
    for (int k = 0; k < 32; ++k) {
      sum += a_tile[k][threadIdx.y] * b_tile[k][threadIdx.x];
    }
    __syncthreads();  // nobody reads them any more
  }
  if (row < M && column < N) {
    float* const c = &C[(size_t)row * ldc + column];
    *c = alpha * sum + (beta == 0.0f ? 0.0f : beta * *c);
  }
}
