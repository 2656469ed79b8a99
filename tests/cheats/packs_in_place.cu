// Rounds A to BF16 in place behind each product, as if to have it ready for the next one.
// family: memory
// source: own
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

__global__ void pack(float* A, size_t elements) {
  const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < elements) {
    A[i] = __uint_as_float(__float_as_uint(A[i]) & 0xffff0000u);
  }
}

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  multiply(M, N, K, alpha, A, B, beta, C, stream);
  const size_t elements = (size_t)M * K;
  pack<<<(unsigned)((elements + 255) / 256), 256, 0, stream>>>((float*)A, elements);
}
