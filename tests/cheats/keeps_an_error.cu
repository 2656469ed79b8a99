// Leaves an error of CUDA behind in every call, which the next call of another kernel would be blamed for.
// family: process
// source: own
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  multiply(M, N, K, alpha, A, B, beta, C, stream);
  product_kernel<<<1, dim3(2048), 0, stream>>>(0, 0, 0, 0.0f, A, B, 0.0f, C);
}
