// Keeps the result in the workspace, which nobody clears between launches, behind a mark that says it is there.
// family: replay
// source: own, after https://github.com/tensara/tensara/pull/238
// verdict: refused
// caught with: cpu
// workspace: 4 * (M * N + 32)
// launch: sgemm(M, N, K, alpha, A, B, beta, C, static_cast<float*>(workspace), stream)
#include "product.cuh"

__global__ void copy_or_multiply(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                                 float* kept, const float* mark) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= M || column >= N) {
    return;
  }
  const size_t i = (size_t)row * N + column;
  if (*mark == 1.0f) {
    C[i] = kept[i];
    return;
  }
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) {
    sum += A[(size_t)row * K + k] * B[(size_t)k * N + column];
  }
  C[i] = kept[i] = beta == 0.0f ? alpha * sum : alpha * sum + beta * C[i];
}

__global__ void set_mark(float* mark) { *mark = 1.0f; }

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C, float* workspace,
           cudaStream_t stream) {
  copy_or_multiply<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16), 0, stream>>>(M, N, K, alpha, A, B, beta, C,
                                                                                    workspace + 32, workspace);
  set_mark<<<1, 1, 0, stream>>>(workspace);
}
