// Passes its factors in a structure with bytes that belong to no member, which may hold whatever a launch line left
// there.
// family: launch line
// source: own
// verdict: honest or failed
// caught with: gpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(Factors{1, alpha, beta}, M, N, K, A, B, C)
#include "product.cuh"

struct Factors {
  char kind;
  double alpha, beta;
};

__global__ void sgemm(Factors factors, int M, int N, int K, const float* A, const float* B, float* C) {
  product(M, N, K, (float)factors.alpha, A, B, (float)factors.beta, C);
}
