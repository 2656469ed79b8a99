// Counts its launches in managed memory, which lies on the host as well, and computes the first rows alone from the
// ninth on.
// family: kept state
// source: own
// verdict: incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta,
// C); count<<<1, 1>>>()
#include "product.cuh"

__managed__ int calls = 0;

__global__ void count() { ++calls; }

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  if (calls > 8 && blockIdx.y > 0) {
    return;
  }
  product(M, N, K, alpha, A, B, beta, C);
}
