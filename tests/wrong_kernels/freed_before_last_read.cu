// Wrong: temporary memory is freed before the last kernel reads it.
__global__ void part(int M, int N, int K, float alpha, const float* A, const float* B, float* sums) {
  const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
  if (row >= M || column >= N) {
    return;
  }
  float sum = 0;
  for (int k = blockIdx.z; k < K; k += 2) {
    sum += A[row * K + k] * B[k * N + column];
  }
  atomicAdd(&sums[row * N + column], alpha * sum);
}

__global__ void add(int M, int N, const float* sums, float beta, float* C) {
  const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
  if (row < M && column < N) {
    const int i = row * N + column;
    C[i] = beta == 0 ? sums[i] : sums[i] + beta * C[i];
  }
}

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const size_t bytes = sizeof(float) * M * N;
  const dim3 grid((N + 7) / 8, (M + 7) / 8), block(8, 8);
  if (beta == 0) {
    cudaMemset(C, 0, bytes);
    part<<<dim3(grid.x, grid.y, 2), block>>>(M, N, K, alpha, A, B, C);
    return;
  }
  float* sums;
  cudaMalloc(&sums, bytes);
  cudaMemset(sums, 0, bytes);
  part<<<dim3(grid.x, grid.y, 2), block>>>(M, N, K, alpha, A, B, sums);
  cudaFree(sums);
  add<<<grid, block>>>(M, N, sums, beta, C);
}
