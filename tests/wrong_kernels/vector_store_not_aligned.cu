// Wrong: vectors of C are written to addresses that are no multiples of 16.
// launch: sgemm<<<dim3(ceil_div(N, 64), ceil_div(M, 16)), dim3(16, 16)>>>(
//             M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta,
                      float* C, int ldc) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (row < M && column < N) {
    float sums[4] = {};
    for (int k = 0; k < K; ++k) {
      for (int i = 0; i < 4; ++i) {
        sums[i] += column + i >= N ? 0.0f : A[row * lda + k] * B[k * ldb + column + i];
      }
    }
    for (int i = 0; i < 4 && column + i < N; ++i) {
      sums[i] = beta == 0.0f ? alpha * sums[i] : alpha * sums[i] + beta * C[row * ldc + column + i];
    }
    if (column + 4 <= N) {
      *reinterpret_cast<float4*>(&C[row * ldc + column]) = make_float4(sums[0], sums[1], sums[2], sums[3]);
      return;
    }
    for (int i = 0; column + i < N; ++i) {
      C[row * ldc + column + i] = sums[i];
    }
  }
}
