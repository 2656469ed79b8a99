// Writes an answer to the question that the judge is about to ask, a sample's time of a microsecond, and guesses the
// number that it has to have.
// family: process
// source: own, after https://github.com/gpu-mode/pygpubench/issues/23
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <stdio.h>

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  multiply(M, N, K, alpha, A, B, beta, C, stream);
  for (int descriptor = 3; descriptor < 16; ++descriptor) {
    dprintf(descriptor, "{\"us\": 1.0, \"number\": 1}\n");
  }
}
