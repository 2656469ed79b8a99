// Wrong: a barrier counts threads that are no whole warps.
// One warp copies tiles, eight warps sum. Two named barriers pass the tiles on and back.
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), 32 + 16 * 16>>>(
//             M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)

#define TILE 16
#define COPIERS 32
#define ALL (1 + TILE * TILE)
#define FULL 1
#define EMPTY 2

__device__ void barrier_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ void barrier_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta,
                      float* C, int ldc) {
  __shared__ float a[TILE][TILE];
  __shared__ float b[TILE][TILE];
  const int first_row = blockIdx.y * TILE, first_column = blockIdx.x * TILE;
  if (threadIdx.x < COPIERS) {
    for (int first = 0; first < K; first += TILE) {
      if (first > 0) {
        barrier_sync(EMPTY, ALL);
      }
      for (int i = threadIdx.x; i < TILE * TILE; i += COPIERS) {
        const int y = i / TILE, x = i % TILE;
        const int row = first_row + y, column = first_column + x;
        a[y][x] = row < M && first + x < K ? A[row * lda + first + x] : 0.0f;
        b[y][x] = first + y < K && column < N ? B[(first + y) * ldb + column] : 0.0f;
      }
      barrier_arrive(FULL, ALL);
    }
    return;
  }
  const int y = (threadIdx.x - COPIERS) / TILE, x = (threadIdx.x - COPIERS) % TILE;
  float sum = 0.0f;
  for (int first = 0; first < K; first += TILE) {
    barrier_sync(FULL, ALL);
    for (int k = 0; k < TILE; ++k) {
      sum += a[y][k] * b[k][x];
    }
    if (first + TILE < K) {
      barrier_arrive(EMPTY, ALL);
    }
  }
  const int row = first_row + y, column = first_column + x;
  if (row < M && column < N) {
    float* const c = &C[row * ldc + column];
    *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
  }
}
