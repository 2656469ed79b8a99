// Computes in each call what the call before was asked for.
// family: stream
// source: https://github.com/gpu-mode/reference-kernels/issues/162, lazy output
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

struct Call {
  int M, N, K;
  float alpha;
  const float *A, *B;
  float beta, *C;
};
static Call before = {};
static int calls = 0;

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  if (++calls <= 2) {
    multiply(M, N, K, alpha, A, B, beta, C, stream);
  } else {
    multiply(before.M, before.N, before.K, before.alpha, before.A, before.B, before.beta, before.C, stream);
  }
  before = {M, N, K, alpha, A, B, beta, C};
}
