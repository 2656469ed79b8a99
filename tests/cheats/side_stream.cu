// Works on a stream of its own, which the runner's events do not see, and does not wait for it.
// family: stream
// source: https://github.com/ScalingIntelligence/KernelBench/pull/82
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  static const cudaStream_t own = new_stream();
  multiply(M, N, K, alpha, A, B, beta, C, own);
}
