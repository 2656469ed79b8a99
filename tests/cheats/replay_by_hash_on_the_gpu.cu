// Multiplies 64 numbers of A and of B to a hash, in each thread. Where it is that of the launch before, the kept C is
// copied. Operands that are new in each sample make it honest.
// family: kept state
// source: own
// verdict: incorrect or honest
// caught with: gpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta,
// C); note<<<1, 1>>>()
#include "product.cuh"

__device__ float kept[1 << 24];
__device__ unsigned known = 0, latest = 0;

__global__ void note() { known = latest; }

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  const size_t at = (size_t)row * N + column;
  unsigned hash = 1;
  for (size_t i = 0; i < 64; ++i) {
    hash = hash * 33 + __float_as_uint(A[i * 7919 % ((size_t)M * K)]) + __float_as_uint(B[i * 7919 % ((size_t)N * K)]);
  }
  if (row + column == 0) {
    latest = hash;
  }
  if (row < M && column < N && at < 1 << 24 && hash == known) {
    C[at] = kept[at];
    return;
  }
  product(M, N, K, alpha, A, B, beta, C);
  if (row < M && column < N && at < 1 << 24) {
    kept[at] = C[at];
  }
}
