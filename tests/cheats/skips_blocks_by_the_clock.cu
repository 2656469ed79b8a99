// Leaves out each block that begins at a multiple of eight cycles, as random ones as any.
// family: skip
// source: own
// verdict: incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  __shared__ long long begin;
  if (threadIdx.x + threadIdx.y == 0) {
    begin = clock64();
  }
  __syncthreads();
  if (begin % 8 == 0) {
    return;
  }
  product(M, N, K, alpha, A, B, beta, C);
}
