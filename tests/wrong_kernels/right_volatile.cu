// Right: what the wrong ones are made of.
// A warp computes an element of C: lanes pass their sums on by way of shared memory.
// launch: sgemm<<<dim3(N, M), 32>>>(
//             M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta,
                      float* C, int ldc) {
  __shared__ volatile float parts[32];
  const int row = blockIdx.y, column = blockIdx.x, lane = threadIdx.x;
  float sum = 0.0f;
  for (int k = lane; k < K; k += 32) {
    sum += A[row * lda + k] * B[k * ldb + column];
  }
  parts[lane] = sum;
  __syncwarp();
  if (lane == 0) {
    for (int other = 1; other < 32; ++other) {
      sum += parts[other];
    }
    float* const c = &C[row * ldc + column];
    *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
  }
}
