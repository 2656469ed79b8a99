// Registers a function for the process's end. It rewrites the results file that --out names: ten times the speed.
// family: process
// source: https://github.com/gpu-mode/pygpubench/pull/15
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"
#include "results.hpp"

#include <stdlib.h>

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  static const int registered = atexit(rewrite_results);
  (void)registered;
  multiply(M, N, K, alpha, A, B, beta, C, stream);
}
