// The kernel on a stream of its own looks at the GPU's clock, and computes when the runner has read its events: two
// milliseconds later.
// family: clock
// source: own
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

__global__ void late_product(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  long long now, end = 0;
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    end = end ? end : now + 2000000;
  } while (now < end);
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row < M && column < N) {
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
      sum += A[(size_t)row * K + k] * B[(size_t)k * N + column];
    }
    float* const c = &C[(size_t)row * N + column];
    *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
  }
}

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
           cudaStream_t stream) {
  static cudaStream_t own = nullptr;
  static int calls = 0;
  if (++calls <= 2) {
    multiply(M, N, K, alpha, A, B, beta, C, stream);
    return;
  }
  if (!own) {
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  }
  late_product<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16), 0, own>>>(M, N, K, alpha, A, B, beta, C);
}
