// Uses B as the place for its sums while it works, and writes the old numbers back at the end.
// family: memory
// source: own
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  float* saved;
  const size_t size_b = (size_t)K * N, size_c = (size_t)M * N;
  cudaMalloc(&saved, size_b * sizeof(float));
  copy(saved, B, size_b, stream);
  if (beta == 0.0f && size_c <= size_b) {
    multiply(M, N, K, alpha, A, saved, 0.0f, (float*)B, stream);
    copy(C, B, size_c, stream);
  } else {
    multiply(M, N, K, alpha, A, B, beta, C, stream);
  }
  copy((float*)B, saved, size_b, stream);
  cudaStreamSynchronize(stream);
  cudaFree(saved);
}
