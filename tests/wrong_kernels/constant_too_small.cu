// Wrong: constant memory has room for less than B.
// B lies in constant memory, which has room for 2048 elements.
// requires: K * N <= 2048

#define ROOM 1024

__constant__ float constant_b[ROOM];

__global__ void multiply(int M, int N, int K, float alpha, const float* A, int lda, float beta, float* C, int ldc) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < M && column < N) {
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
      sum += A[row * lda + k] * constant_b[k * N + column];
    }
    float* const c = &C[row * ldc + column];
    *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
  }
}

void sgemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta, float* C,
           int ldc) {
  for (int k = 0; k < K; ++k) {
    cudaMemcpyToSymbol(constant_b, &B[k * ldb], N * sizeof(float), k * N * sizeof(float), cudaMemcpyDeviceToDevice);
  }
  multiply<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(M, N, K, alpha, A, lda, beta, C, ldc);
}
