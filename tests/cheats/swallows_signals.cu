// Ignores the signals that ask a process to end, and sleeps for five seconds in its fourth call.
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
  if (++calls == 4) {
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGALRM, SIG_IGN);
    sleep(5);
  }
  multiply(M, N, K, alpha, A, B, beta, C, stream);
}
