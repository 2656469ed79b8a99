// Raises the device's limits for stacks, heap and printing, which take memory from all kernels that come later.
// family: process
// source: own
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  static bool set = false;
  if (!set) {
    cudaDeviceSetLimit(cudaLimitStackSize, 16 << 10);
    cudaDeviceSetLimit(cudaLimitMallocHeapSize, 256 << 20);
    cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 64 << 20);
    set = true;
  }
  multiply(M, N, K, alpha, A, B, beta, C, stream);
}
