// Computes in odd calls and does nothing in even ones, so that half of the samples take no time.
// family: skip
// source: https://github.com/gpu-mode/reference-kernels/pull/104
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

static int calls = 0;

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  if (++calls % 2 == 1) {
    multiply(M, N, K, alpha, A, B, beta, C, stream);
  }
}
