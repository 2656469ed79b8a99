// Looks through the process's own memory for the reference, of which it computes three elements, and copies that. It
// launches a kernel that does nothing, so that it counts as a launch.
// family: memory
// source: https://github.com/gpu-mode/pygpubench/issues/23
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "search.hpp"

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
           cudaStream_t stream) {
  copy_result("self", M, N, K, A, B, C, stream);
}
