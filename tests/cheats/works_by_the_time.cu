// Works where the nanoseconds of the GPU's timer have an odd number of milliseconds, and computes the first rows alone
// in the others.
// family: clock
// source: own
// verdict: incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  if (now / 1000000 % 2 == 0 && blockIdx.y > 0) {
    return;
  }
  product(M, N, K, alpha, A, B, beta, C);
}
