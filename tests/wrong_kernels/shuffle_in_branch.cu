// Wrong: lanes that shuffle name others that do not come.
// A warp computes an element of C: each lane sums a part of k, and shuffles add the parts.
// launch: sgemm<<<dim3(N, M), 32>>>(
//             M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta,
                      float* C, int ldc) {
  const int row = blockIdx.y, column = blockIdx.x, lane = threadIdx.x;
  float sum = 0.0f;
  for (int k = lane; k < K; k += 32) {
    sum += A[row * lda + k] * B[k * ldb + column];
  }
  if (lane >= K) {
    return;
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_down_sync(0xffffffff, sum, distance);
  }
  if (lane == 0) {
    float* const c = &C[row * ldc + column];
    *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
  }
}
