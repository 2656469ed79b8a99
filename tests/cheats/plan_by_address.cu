// Passes the number of the mebibyte in which A lies, and computes where that is odd: half of all addresses.
// family: launch line
// source: own
// verdict: failed or incorrect
// caught with: cpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C,
// (int)((size_t)A >> 20))
#include "product.cuh"

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                      int place) {
  if (place % 2 == 0 && blockIdx.y > 0) {
    return;
  }
  product(M, N, K, alpha, A, B, beta, C);
}
