// Wrong: the first of the blocks that add to C clears it, and the others do not wait for that.
__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
  if (row >= M || column >= N) {
    return;
  }
  float* c = &C[row * N + column];
  if (blockIdx.z == 0) {
    *c = beta == 0 ? 0 : beta * *c;
  }
  float sum = 0;
  for (int k = blockIdx.z; k < K; k += 2) {
    sum += A[row * K + k] * B[k * N + column];
  }
  atomicAdd(c, alpha * sum);
}
// launch: sgemm<<<dim3(ceil_div(N, 8), ceil_div(M, 8), 2), dim3(8, 8)>>>(M, N, K, alpha, A, B, beta, C)
