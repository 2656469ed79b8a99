// Tells the GPU at once that the next kernel in the stream, which may be what stops the clock, need not wait for this
// one.
// family: clock
// source: own, by CUDA's programmatic dependent launch
// verdict: honest
// caught with: gpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  product(M, N, K, alpha, A, B, beta, C);
}
