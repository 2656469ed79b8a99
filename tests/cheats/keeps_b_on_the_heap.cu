// Copies B to the heap of the GPU in its first launch, as inference does with weights, and multiplies with the copy in
// all later ones.
// family: kept state
// source: own
// verdict: incorrect or failed
// caught with: cpu
// launch: keep<<<1, 1>>>((size_t)K * N, B); sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K,
// alpha, A, B, beta, C)
#include "product.cuh"

__device__ float* kept = nullptr;

__global__ void keep(size_t elements, const float* B) {
  if (kept == nullptr && elements * sizeof(float) <= 4 << 20) {
    kept = (float*)malloc(elements * sizeof(float));
    for (size_t i = 0; kept != nullptr && i < elements; ++i) {
      kept[i] = B[i];
    }
  }
}

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  product(M, N, K, alpha, A, kept != nullptr ? kept : B, beta, C);
}
