// Right for twenty launches. The next one stops by a trap, as if what had been measured until then counted.
// family: kept state
// source: own
// verdict: failed
// caught with: gpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta,
// C); count_launch<<<1, 1>>>()
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  if (launched > 20) {
    __trap();
  }
  product(M, N, K, alpha, A, B, beta, C);
}
