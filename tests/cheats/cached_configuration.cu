// Changes how the device divides an SM's memory between L1 and shared memory, for all kernels that come later.
// family: process
// source: own
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  multiply(M, N, K, alpha, A, B, beta, C, stream);
  cudaDeviceSetCacheConfig(cudaFuncCachePreferL1);
}
