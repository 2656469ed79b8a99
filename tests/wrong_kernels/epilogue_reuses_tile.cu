// Wrong: results are staged in a tile that other threads still read.
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(
//             M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)

#define TILE 16

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta,
                      float* C, int ldc) {
  __shared__ float a[TILE][TILE];
  __shared__ float b[TILE][TILE];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * TILE + y;
  const int column = blockIdx.x * TILE + x;
  float sum = 0.0f;
  for (int first = 0; first < K; first += TILE) {
    a[y][x] = row < M && first + x < K ? A[row * lda + first + x] : 0.0f;
    b[y][x] = first + y < K && column < N ? B[(first + y) * ldb + column] : 0.0f;
    __syncthreads();
    for (int k = 0; k < TILE; ++k) {
      sum += a[y][k] * b[k][x];
    }
    if (first + TILE < K) {
      __syncthreads();
    }
  }
  b[x][y] = alpha * sum;
  __syncthreads();
  if (row < M && column < N) {
    float* const c = &C[row * ldc + column];
    *c = beta == 0.0f ? b[x][y] : b[x][y] + beta * *c;
  }
}
