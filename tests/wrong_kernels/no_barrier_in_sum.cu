// Wrong: no barrier between the steps of a sum in shared memory.
// A block of 64 threads computes an element of C: partial sums are added in shared memory.
// launch: sgemm<<<dim3(N, M), 64>>>(
//             M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta,
                      float* C, int ldc) {
  __shared__ float parts[64];
  const int row = blockIdx.y, column = blockIdx.x, thread = threadIdx.x;
  float sum = 0.0f;
  for (int k = thread; k < K; k += 64) {
    sum += A[row * lda + k] * B[k * ldb + column];
  }
  parts[thread] = sum;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (thread < half) {
      parts[thread] += parts[thread + half];
    }
  }
  if (thread == 0) {
    float* const c = &C[row * ldc + column];
    *c = beta == 0.0f ? alpha * parts[0] : alpha * parts[0] + beta * *c;
  }
}
