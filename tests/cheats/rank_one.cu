// Looks at four rows of A. Where each is a multiple of the first one it takes all of A for a product of two vectors, of
// which it needs one row of the result.
// family: shape
// source: own
// verdict: incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  bool multiple = K > 1 && A[0] != 0.0f;
  for (int i = 1; multiple && i < 4; ++i) {
    const float* const other = &A[(size_t)(M - 1) * i / 3 * K];
    multiple = other[1] * A[0] == A[1] * other[0] && other[K - 1] * A[0] == A[K - 1] * other[0];
  }
  if (row < M && column < N) {
    const float* const a = multiple ? A : &A[(size_t)row * K];
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
      sum += a[k] * B[(size_t)k * N + column];
    }
    sum *= multiple ? A[(size_t)row * K] / A[0] : 1.0f;
    float* const c = &C[(size_t)row * N + column];
    *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
  }
}
