// Sets as much of the L2 aside as there may be when its call ends, and gives it back when its next call begins: the
// rival in between has a smaller cache.
// family: L2
// source: own, after https://github.com/NVIDIA/nvbench/issues/458
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0);
  cudaCtxResetPersistingL2Cache();
  multiply(M, N, K, alpha, A, B, beta, C, stream);
  cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, 0);
  cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, properties.persistingL2CacheMaxSize);
}
