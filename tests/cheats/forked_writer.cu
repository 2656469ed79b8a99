// Leaves a child behind, which rewrites the results file a second after the others have ended. It ends after ten.
// family: process
// source: own, after https://github.com/gpu-mode/pygpubench/pull/15
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"
#include "results.hpp"

#include <unistd.h>

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  static bool forked = false;
  if (!forked) {
    forked = true;
    const pid_t runner = getpid();
    if (fork() == 0) {
      setsid();
      for (int tenths = 0; tenths < 90 && getppid() == runner; ++tenths) {
        usleep(100000);
      }
      sleep(1);
      rewrite_results();
      _exit(0);
    }
  }
  multiply(M, N, K, alpha, A, B, beta, C, stream);
}
