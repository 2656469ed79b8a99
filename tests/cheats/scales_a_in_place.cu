// Doubles A in place before the product and halves it again behind it. The bits of A are then what they were.
// family: aliasing
// source: own
// verdict: incorrect or failed
// caught with: cpu
// launch: scale<<<ceil_div((long long)M * K, 256), 256>>>((long long)M * K, 2.0f, A); product_kernel<<<dim3(ceil_div(N,
// 32), ceil_div(M, 32)), dim3(32, 32)>>>(M, N, K, 0.5f * alpha, A, B, beta, C); scale<<<ceil_div((long long)M * K,
// 256), 256>>>((long long)M * K, 0.5f, A)
#include "product.cuh"

__global__ void scale(size_t elements, float factor, float* A) {
  const size_t i = blockIdx.x * (size_t)256 + threadIdx.x;
  if (i < elements) {
    A[i] *= factor;
  }
}
