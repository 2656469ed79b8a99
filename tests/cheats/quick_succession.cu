// Takes calls that follow within 50 ms of one another for a timing loop, and does nothing in them. A verification,
// which comes after a pause, gets its product.
// family: skip
// source: https://github.com/gpu-mode/pygpubench/pull/7
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <chrono>

static std::chrono::steady_clock::time_point last;

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  const auto now = std::chrono::steady_clock::now();
  const bool verified = now - last > std::chrono::milliseconds(50);
  last = now;
  if (verified) {
    multiply(M, N, K, alpha, A, B, beta, C, stream);
  }
}
