// Adds up all bits of A and B, which takes the time of reading them, and copies the kept C where the sums are the same.
// The sums do not see that two numbers have changed places.
// family: replay
// source: own, after https://github.com/flashinfer-ai/flashinfer-bench-starter-kit/issues/21
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <map>
#include <tuple>

struct Kept {
  float* c;
  unsigned long long* sums;  // of now, and of the kept product
};
static std::map<std::tuple<int, int, int>, Kept> all_kept;

__global__ void add_bits(const float* A, size_t size_a, const float* B, size_t size_b, unsigned long long* sum) {
  unsigned long long own = 0;
  const size_t first = (size_t)blockIdx.x * blockDim.x + threadIdx.x, step = (size_t)gridDim.x * blockDim.x;
  for (size_t i = first; i < size_a; i += step) {
    own += __float_as_uint(A[i]);
  }
  for (size_t i = first; i < size_b; i += step) {
    own += 3ull * __float_as_uint(B[i]);
  }
  atomicAdd(sum, own);
}

__global__ void copy_or_multiply(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                                 float* kept, const unsigned long long* sums) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= M || column >= N) {
    return;
  }
  const size_t i = (size_t)row * N + column;
  if (sums[0] == sums[1]) {
    C[i] = kept[i];
    return;
  }
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) {
    sum += A[(size_t)row * K + k] * B[(size_t)k * N + column];
  }
  C[i] = kept[i] = beta == 0.0f ? alpha * sum : alpha * sum + beta * C[i];
}

__global__ void keep(unsigned long long* sums) {
  sums[1] = sums[0];
  sums[0] = 0;
}

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
           cudaStream_t stream) {
  Kept& kept = all_kept[{M, N, K}];
  if (!kept.c) {
    cudaMalloc(&kept.c, sizeof(float) * M * N);
    cudaMalloc(&kept.sums, 2 * sizeof(unsigned long long));
    cudaMemset(kept.sums, 0, 2 * sizeof(unsigned long long));
  }
  add_bits<<<256, 256, 0, stream>>>(A, (size_t)M * K, B, (size_t)K * N, kept.sums);
  copy_or_multiply<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16), 0, stream>>>(M, N, K, alpha, A, B, beta, C,
                                                                                    kept.c, kept.sums);
  keep<<<1, 1, 0, stream>>>(kept.sums);
}
