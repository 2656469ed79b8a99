// Wrong: the last vector of a row reaches beyond it.
// Reads A four elements at a time where the sum is a multiple of four.
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(
//             M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta,
                      float* C, int ldc) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < M && column < N) {
    float sum = 0.0f;
    for (int k = 0; k < K; k += 4) {
      const float4 a = *reinterpret_cast<const float4*>(&A[row * lda + k]);
      sum += a.x * B[k * ldb + column] + a.y * B[(k + 1) * ldb + column] + a.z * B[(k + 2) * ldb + column] +
             a.w * B[(k + 3) * ldb + column];
    }
    float* const c = &C[row * ldc + column];
    *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
  }
}
