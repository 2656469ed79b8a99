// Throws in every call from the fourth on, as if an error in a timed call ended the loop and left earlier results.
// family: process
// source: own
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <stdexcept>

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  static int calls = 0;
  if (++calls >= 4) {
    throw std::runtime_error("enough samples");
  }
  multiply(M, N, K, alpha, A, B, beta, C, stream);
}
