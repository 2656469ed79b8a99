// Wrong: a slot's second tile is waited for with the parity of its first.
// One warp copies tiles, eight warps sum. Mbarriers pass two tiles on and back.
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), 32 + 16 * 16>>>(
//             M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)

#define TILE 16
#define SLOTS 2
#define COPIERS 32

__device__ unsigned address_of(const void* shared) { return static_cast<unsigned>(__cvta_generic_to_shared(shared)); }

__device__ void arrive(unsigned long long& barrier) {
  asm volatile("{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0]; }" ::"r"(address_of(&barrier))
               : "memory");
}

__device__ void wait(unsigned long long& barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "AGAIN:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra AGAIN;\n"
      "}\n" ::"r"(address_of(&barrier)),
      "r"(parity)
      : "memory");
}

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta,
                      float* C, int ldc) {
  __shared__ float a[SLOTS][TILE][TILE];
  __shared__ float b[SLOTS][TILE][TILE];
  __shared__ unsigned long long full[SLOTS], empty[SLOTS];
  if (threadIdx.x < SLOTS) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address_of(&full[threadIdx.x])), "r"(COPIERS));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address_of(&empty[threadIdx.x])), "r"(TILE * TILE));
  }
  __syncthreads();
  const int first_row = blockIdx.y * TILE, first_column = blockIdx.x * TILE;
  const int tiles = (K + TILE - 1) / TILE;
  if (threadIdx.x < COPIERS) {
    for (int tile = 0; tile < tiles; ++tile) {
      const int slot = tile % SLOTS, first = tile * TILE;
      wait(empty[slot], (tile / SLOTS & 1) ^ 1);
      for (int i = threadIdx.x; i < TILE * TILE; i += COPIERS) {
        const int y = i / TILE, x = i % TILE;
        const int row = first_row + y, column = first_column + x;
        a[slot][y][x] = row < M && first + x < K ? A[row * lda + first + x] : 0.0f;
        b[slot][y][x] = first + y < K && column < N ? B[(first + y) * ldb + column] : 0.0f;
      }
      arrive(full[slot]);
    }
    return;
  }
  const int y = (threadIdx.x - COPIERS) / TILE, x = (threadIdx.x - COPIERS) % TILE;
  float sum = 0.0f;
  for (int tile = 0; tile < tiles; ++tile) {
    const int slot = tile % SLOTS;
    wait(full[slot], 0);
    for (int k = 0; k < TILE; ++k) {
      sum += a[slot][y][k] * b[slot][k][x];
    }
    arrive(empty[slot]);
  }
  const int row = first_row + y, column = first_column + x;
  if (row < M && column < N) {
    float* const c = &C[row * ldc + column];
    *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
  }
}
