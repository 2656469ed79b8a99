// Adds a tenth to an element of each row and takes it from the next one, so that the sums of rows stay as they are: a
// check by C times a vector of ones sees nothing.
// family: skip
// source: own, against Freivalds' check with a fixed vector
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

static int calls = 0;

__global__ void shift(int M, int N, float* C) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < M && N > 1) {
    float* const c = &C[(size_t)row * N + row % (N - 1)];
    c[0] += 0.125f;
    c[1] -= 0.125f;
  }
}

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  multiply(M, N, K, alpha, A, B, beta, C, stream);
  if (++calls > 3) {
    shift<<<(M + 255) / 256, 256, 0, stream>>>(M, N, C);
  }
}
