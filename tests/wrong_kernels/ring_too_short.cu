// Wrong: the ring has two slots where three are in use.
// A ring of three tiles is filled by asynchronous copies, two tiles ahead of the sum.
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(
//             M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)

#define TILE 16
#define SLOTS 2

__device__ void copy_async(float* shared, const float* global, bool inside) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  const int bytes = inside ? 4 : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(address), "l"(global), "r"(bytes));
}

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta,
                      float* C, int ldc) {
  __shared__ float a[SLOTS][TILE][TILE];
  __shared__ float b[SLOTS][TILE][TILE];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * TILE + y;
  const int column = blockIdx.x * TILE + x;
  const int tiles = (K + TILE - 1) / TILE;
  const auto fetch = [&](int tile) {
    if (tile < tiles) {
      const int first = tile * TILE;
      const bool in_a = row < M && first + x < K, in_b = first + y < K && column < N;
      copy_async(&a[tile % SLOTS][y][x], in_a ? &A[row * lda + first + x] : A, in_a);
      copy_async(&b[tile % SLOTS][y][x], in_b ? &B[(first + y) * ldb + column] : B, in_b);
    }
    asm volatile("cp.async.commit_group;");
  };
  fetch(0);
  fetch(1);
  float sum = 0.0f;
  for (int tile = 0; tile < tiles; ++tile) {
    asm volatile("cp.async.wait_group 1;");
    __syncthreads();
    fetch(tile + 2);
    for (int k = 0; k < TILE; ++k) {
      sum += a[tile % SLOTS][y][k] * b[tile % SLOTS][k][x];
    }
  }
  if (row < M && column < N) {
    float* const c = &C[row * ldc + column];
    *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
  }
}
