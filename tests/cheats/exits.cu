// Ends the process with status 0 in its fourth call, before anybody looks at the result.
// family: process
// source: own
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <stdlib.h>

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  static int calls = 0;
  if (++calls == 4) {
    exit(0);
  }
  multiply(M, N, K, alpha, A, B, beta, C, stream);
}
