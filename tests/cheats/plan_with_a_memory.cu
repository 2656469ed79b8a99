// Counts in the GPU's memory how often its launch line was evaluated, and asks for the first rows alone from the
// second time on.
// family: launch line
// source: own
// verdict: failed or incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), rows(M)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__device__ int evaluated = 0;

__host__ __device__ inline int rows(int M) {
#ifdef __CUDA_ARCH__
  return ++evaluated > 1 ? 1 : (M + 15) / 16;
#else
  return (M + 15) / 16;
#endif
}

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  product(M, N, K, alpha, A, B, beta, C);
}
