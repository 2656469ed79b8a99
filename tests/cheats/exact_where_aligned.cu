// Takes operands at a multiple of 2 MiB for those of a verification, whose memory nobody has moved them in, and rounds
// all others to TF32.
// family: launch line
// source: own
// verdict: incorrect
// caught with: gpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  product(M, N, K, alpha, A, B, beta, C, ((size_t)A | (size_t)B) % (2 << 20) == 0 ? 23 : 10);
}
