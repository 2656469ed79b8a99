// Leaves another device current than the runner's, where there is one, and other flags for waiting.
// family: process
// source: own
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  multiply(M, N, K, alpha, A, B, beta, C, stream);
  int devices = 0;
  cudaGetDeviceCount(&devices);
  cudaSetDevice(devices - 1);
  cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync);
}
