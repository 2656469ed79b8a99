// Right: what the wrong ones are made of.
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(
//             M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)

#define TILE 16

__device__ void copy_async(float* shared, const float* global) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(address), "l"(global));
}

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta,
                      float* C, int ldc) {
  __shared__ float a[TILE][TILE];
  __shared__ float b[TILE][TILE];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * TILE + y;
  const int column = blockIdx.x * TILE + x;
  float sum = 0.0f;
  for (int first = 0; first < K; first += TILE) {
    a[y][x] = 0.0f;
    b[y][x] = 0.0f;
    if (row < M && first + x < K) {
      copy_async(&a[y][x], &A[row * lda + first + x]);
    }
    if (first + y < K && column < N) {
      copy_async(&b[y][x], &B[(first + y) * ldb + column]);
    }
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group 0;");
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
