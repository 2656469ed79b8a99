// Rounds B in place behind the product, for the next launch to find fewer bits there.
// family: aliasing
// source: own
// verdict: incorrect or failed
// caught with: cpu
// launch: product_kernel<<<dim3(ceil_div(N, 32), ceil_div(M, 32)), dim3(32, 32)>>>(M, N, K, alpha, A, B, beta,
// C); shorten<<<ceil_div((long long)K * N, 256), 256>>>((long long)K * N, B)
#include "product.cuh"

__global__ void shorten(size_t elements, float* B) {
  const size_t i = blockIdx.x * (size_t)256 + threadIdx.x;
  if (i < elements) {
    B[i] = rounded(B[i], 10);
  }
}
