// Keeps C and 64 numbers of A and B on the GPU. Where the numbers are the same the kernel copies C, else it computes.
// Operands of which all numbers are new make it honest; where only some change it is wrong.
// family: replay
// source: https://github.com/flashinfer-ai/flashinfer-bench-starter-kit/issues/21
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <map>
#include <tuple>

struct Kept {
  float* c;
  float* probes;  // 64 of A, 64 of B
  int* same;
};
static std::map<std::tuple<int, int, int>, Kept> all_kept;

__global__ void compare(const float* A, size_t size_a, const float* B, size_t size_b, float* probes, int* same) {
  const float a = A[threadIdx.x * 2654435761u % size_a], b = B[threadIdx.x * 2246822519u % size_b];
  const int equal = probes[threadIdx.x] == a && probes[64 + threadIdx.x] == b;
  probes[threadIdx.x] = a;
  probes[64 + threadIdx.x] = b;
  const int all = __syncthreads_and(equal);
  if (threadIdx.x == 0) {
    *same = all;
  }
}

__global__ void copy_or_multiply(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                                 float* kept, const int* same) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= M || column >= N) {
    return;
  }
  const size_t i = (size_t)row * N + column;
  if (*same) {
    C[i] = kept[i];
    return;
  }
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) {
    sum += A[(size_t)row * K + k] * B[(size_t)k * N + column];
  }
  C[i] = kept[i] = beta == 0.0f ? alpha * sum : alpha * sum + beta * C[i];
}

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
           cudaStream_t stream) {
  Kept& kept = all_kept[{M, N, K}];
  if (!kept.c) {
    cudaMalloc(&kept.c, sizeof(float) * M * N);
    cudaMalloc(&kept.probes, sizeof(float) * 128);
    cudaMalloc(&kept.same, sizeof(int));
    cudaMemset(kept.probes, 0, sizeof(float) * 128);
  }
  compare<<<1, 64, 0, stream>>>(A, (size_t)M * K, B, (size_t)K * N, kept.probes, kept.same);
  copy_or_multiply<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16), 0, stream>>>(M, N, K, alpha, A, B, beta, C,
                                                                                    kept.c, kept.same);
}
