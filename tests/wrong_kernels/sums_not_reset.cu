// Wrong: a block takes several tiles of C, and its sums are not set back in between.
// launch: sgemm<<<2, dim3(16, 16)>>>(
//             M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)

#define TILE 16

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta,
                      float* C, int ldc) {
  __shared__ float a[TILE][TILE];
  __shared__ float b[TILE][TILE];
  const int x = threadIdx.x, y = threadIdx.y;
  const int wide = (N + TILE - 1) / TILE, high = (M + TILE - 1) / TILE;
  float sum = 0.0f;
  for (int tile = blockIdx.x; tile < wide * high; tile += gridDim.x) {
    const int row = tile / wide * TILE + y;
    const int column = tile % wide * TILE + x;
    for (int first = 0; first < K; first += TILE) {
      a[y][x] = row < M && first + x < K ? A[row * lda + first + x] : 0.0f;
      b[y][x] = first + y < K && column < N ? B[(first + y) * ldb + column] : 0.0f;
      __syncthreads();
      for (int k = 0; k < TILE; ++k) {
        sum += a[y][k] * b[k][x];
      }
      __syncthreads();
    }
    if (row < M && column < N) {
      float* const c = &C[row * ldc + column];
      *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
    }
  }
}
