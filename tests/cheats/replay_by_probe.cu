// Keeps C and 64 numbers of A and B on the GPU. Where the numbers are the same the kernel copies C, else it computes.
// Operands of which all numbers are new make it honest; where only some change it is wrong.
// family: replay
// source: https://github.com/flashinfer-ai/flashinfer-bench-starter-kit/issues/21
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "kept.cuh"

__global__ void compare(const float* A, size_t size_a, const float* B, size_t size_b, float* probes,
                        unsigned long long* sums) {
  const float a = A[threadIdx.x * 2654435761u % size_a], b = B[threadIdx.x * 2246822519u % size_b];
  const int equal = probes[threadIdx.x] == a && probes[64 + threadIdx.x] == b;
  probes[threadIdx.x] = a;
  probes[64 + threadIdx.x] = b;
  sums[1] = 1;
  sums[0] = __syncthreads_and(equal);
}

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  const Kept kept = kept_for(M, N, K);
  compare<<<1, 64, 0, stream>>>(A, (size_t)M * K, B, (size_t)K * N, kept.probes, kept.sums);
  copy_or_multiply<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16), 0, stream>>>(M, N, K, alpha, A, B, beta, C,
                                                                                    kept);
}
