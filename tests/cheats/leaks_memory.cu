// Leaves 16 MiB of the GPU's memory behind in every call, up to 512 MiB: kernels that come later have less.
// family: memory
// source: own
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  static int calls = 0;
  if (++calls <= 32) {
    void* leaked;
    cudaMalloc(&leaked, 16 << 20);
  }
  multiply(M, N, K, alpha, A, B, beta, C, stream);
}
