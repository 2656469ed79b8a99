// Takes memory behind C, for which it has not asked, as the place of its sums.
// family: aliasing
// source: own
// verdict: incorrect or failed
// caught with: cpu
// launch: product_kernel<<<dim3(ceil_div(N, 32), ceil_div(M, 32)), dim3(32, 32)>>>(M, N, K, alpha, A, B, 0.0f, C +
// (long long)M * N); take<<<ceil_div((long long)M * N, 256), 256>>>((long long)M * N, C)
#include "product.cuh"

__global__ void take(size_t elements, float* C) {
  const size_t i = blockIdx.x * (size_t)256 + threadIdx.x;
  if (i < elements) {
    C[i] = C[i + elements];
  }
}
