// Adds up all bits of A and B, which takes the time of reading them, and copies the kept C where the sums are the same.
// The sums do not see that two numbers have changed places.
// family: replay
// source: own, after https://github.com/flashinfer-ai/flashinfer-bench-starter-kit/issues/21
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "kept.cuh"

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

__global__ void keep(unsigned long long* sums) {
  sums[1] = sums[0];
  sums[0] = 0;
}

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  const Kept kept = kept_for(M, N, K);
  add_bits<<<256, 256, 0, stream>>>(A, (size_t)M * K, B, (size_t)K * N, kept.sums);
  copy_or_multiply<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16), 0, stream>>>(M, N, K, alpha, A, B, beta, C,
                                                                                    kept);
  keep<<<1, 1, 0, stream>>>(kept.sums);
}
