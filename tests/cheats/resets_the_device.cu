// Resets the device in its fourth call: all memory, streams and events of the process are gone.
// family: process
// source: own
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  static int calls = 0;
  if (++calls == 4) {
    cudaDeviceReset();
    return;
  }
  multiply(M, N, K, alpha, A, B, beta, C, stream);
}
