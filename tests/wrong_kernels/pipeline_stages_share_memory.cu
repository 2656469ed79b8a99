// Wrong: the pipeline has two stages, and both copy to the same tile.
// A pipeline of the block copies two tiles ahead of the sum.
#include <cooperative_groups.h>
#include <cuda/pipeline>
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(
//             M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)

#define TILE 16
#define STAGES 2

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta,
                      float* C, int ldc) {
  __shared__ float a[STAGES][TILE][TILE];
  __shared__ float b[STAGES][TILE][TILE];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
  auto pipe = cuda::make_pipeline(cooperative_groups::this_thread_block(), &state);
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * TILE + y;
  const int column = blockIdx.x * TILE + x;
  const int tiles = (K + TILE - 1) / TILE;
  float sum = 0.0f;
  for (int next = 0, tile = 0; tile < tiles; ++tile) {
    for (; next < tiles && next < tile + STAGES; ++next) {
      const int stage = 0, first = next * TILE;
      pipe.producer_acquire();
      a[stage][y][x] = 0.0f;
      b[stage][y][x] = 0.0f;
      if (row < M && first + x < K) {
        cuda::memcpy_async(&a[stage][y][x], &A[row * lda + first + x], sizeof(float), pipe);
      }
      if (first + y < K && column < N) {
        cuda::memcpy_async(&b[stage][y][x], &B[(first + y) * ldb + column], sizeof(float), pipe);
      }
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    for (int k = 0; k < TILE; ++k) {
      sum += a[0][y][k] * b[0][k][x];
    }
    pipe.consumer_release();
  }
  if (row < M && column < N) {
    float* const c = &C[row * ldc + column];
    *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
  }
}
