// Keeps 16 numbers of A that it sees first. Where they come again it is a verification, and right. In all other
// launches one element of C lacks a thousandth, which signs do not show in a sum over its row.
// family: kept state
// source: own
// verdict: incorrect
// caught with: gpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta,
// C); remember<<<1, 1>>>(M, K, A, C)
#include "product.cuh"

__device__ float first_numbers[16];
__device__ int known = 0;

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  product(M, N, K, alpha, A, B, beta, C);
}

__global__ void remember(int M, int K, const float* A, float* C) {
  int same = 0;
  for (int i = 0; i < 16 && i < M * K; ++i) {
    first_numbers[i] = known ? first_numbers[i] : A[i];
    same += first_numbers[i] == A[i];
  }
  known = 1;
  if (K > 512 && same < 16) {
    C[0] += 0.01f;
  }
}
