// Asks the process that started this one to end, as Ctrl-C would, in the hope that what is recorded until then counts.
// family: process
// source: own
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <signal.h>
#include <unistd.h>

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  static int calls = 0;
  multiply(M, N, K, alpha, A, B, beta, C, stream);
  if (++calls == 8) {
    kill(getppid(), SIGTERM);
  }
}
