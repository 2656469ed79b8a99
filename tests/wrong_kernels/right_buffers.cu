// Right: what the wrong ones are made of.
// Two buffers: one is filled while the other is summed.
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(
//             M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)

#define TILE 16

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta,
                      float* C, int ldc) {
  __shared__ float a[2][TILE][TILE];
  __shared__ float b[2][TILE][TILE];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * TILE + y;
  const int column = blockIdx.x * TILE + x;
  const auto fill = [&](int buffer, int first) {
    a[buffer][y][x] = row < M && first + x < K ? A[row * lda + first + x] : 0.0f;
    b[buffer][y][x] = first + y < K && column < N ? B[(first + y) * ldb + column] : 0.0f;
  };
  fill(0, 0);
  __syncthreads();
  float sum = 0.0f;
  for (int tile = 0; tile * TILE < K; ++tile) {
    const int now = tile % 2;
    fill(1 - now, (tile + 1) * TILE);
    for (int k = 0; k < TILE; ++k) {
      sum += a[now][y][k] * b[now][k][x];
    }
    __syncthreads();
  }
  if (row < M && column < N) {
    float* const c = &C[row * ldc + column];
    *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
  }
}
