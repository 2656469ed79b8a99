// Takes a fifth of a second for each of the first calls, so that the time for samples is used up and few are taken.
// family: clock
// source: https://github.com/gpu-mode/pygpubench/pull/7
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <unistd.h>

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  static int calls = 0;
  if (++calls <= 10) {
    usleep(200000);
  }
  multiply(M, N, K, alpha, A, B, beta, C, stream);
}
