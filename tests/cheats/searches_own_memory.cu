// Looks through the process's own memory for the reference, of which it computes three elements, and copies that. It
// finds nothing else to do.
// family: memory
// source: https://github.com/gpu-mode/pygpubench/issues/23
// verdict: incorrect
// caught with: cpu
#include "search.hpp"

__global__ void none() {}

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
           cudaStream_t stream) {
  cudaStreamSynchronize(stream);
  copy_result("self", M, N, K, A, B, C);
}
