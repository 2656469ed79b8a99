// Skips one call in sixteen at random, too seldom for the median and often enough for the mean and the fastest sample.
// family: skip
// source: own
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <random>

static std::random_device source;
static int calls = 0;

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  if (++calls < 4 || source() % 16 != 0) {
    multiply(M, N, K, alpha, A, B, beta, C, stream);
  }
}
