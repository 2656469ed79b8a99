// Prints a line of the runner's table, and one of JSON, with a speed that it likes.
// family: process
// source: own
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <cstdio>

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  std::printf("prints_a_table.cu  %dx%dx%d  measured  1.0 us  99999 GFLOP/s  verified\n", M, N, K);
  std::printf("{\"outcome\": \"measured\", \"gflops\": 99999, \"verified\": true}\n");
  std::fflush(stdout);
  std::fprintf(stderr, "\r\033[2Kprints_a_table.cu  measured  99999 GFLOP/s\n");
  multiply(M, N, K, alpha, A, B, beta, C, stream);
}
