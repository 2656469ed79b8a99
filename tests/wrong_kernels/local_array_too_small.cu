// Wrong: a thread writes behind its local array.
// launch: sgemm<<<dim3(ceil_div(N, 32), ceil_div(M, 32)), dim3(8, 8)>>>(
//             M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)

#define TILE 32
#define DEPTH 8
#define EACH 4

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta,
                      float* C, int ldc) {
  __shared__ float a[DEPTH][TILE];
  __shared__ float b[DEPTH][TILE];
  const int thread = threadIdx.y * blockDim.x + threadIdx.x;
  const int first_row = blockIdx.y * TILE, first_column = blockIdx.x * TILE;
  float sums[EACH][EACH - 1] = {};
  for (int first = 0; first < K; first += DEPTH) {
    for (int i = thread; i < TILE * DEPTH; i += blockDim.x * blockDim.y) {
      const int row = first_row + i / DEPTH, k = first + i % DEPTH;
      a[i % DEPTH][i / DEPTH] = row < M && k < K ? A[row * lda + k] : 0.0f;
    }
    for (int i = thread; i < TILE * DEPTH; i += blockDim.x * blockDim.y) {
      const int k = first + i / TILE, column = first_column + i % TILE;
      b[i / TILE][i % TILE] = k < K && column < N ? B[k * ldb + column] : 0.0f;
    }
    __syncthreads();
    for (int k = 0; k < DEPTH; ++k) {
      for (int i = 0; i < EACH; ++i) {
        for (int j = 0; j < EACH; ++j) {
          sums[i][j] += a[k][threadIdx.y * EACH + i] * b[k][threadIdx.x * EACH + j];
        }
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < EACH; ++i) {
    for (int j = 0; j < EACH; ++j) {
      const int row = first_row + threadIdx.y * EACH + i, column = first_column + threadIdx.x * EACH + j;
      if (row < M && column < N) {
        float* const c = &C[row * ldc + column];
        *c = beta == 0.0f ? alpha * sums[i][j] : alpha * sums[i][j] + beta * *c;
      }
    }
  }
}
