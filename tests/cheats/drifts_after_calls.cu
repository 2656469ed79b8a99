// Right for ten calls. Then one element grows by a thousandth of itself in every call.
// family: skip
// source: https://github.com/karpathy/llm.c/pull/852
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

static int calls = 0;

__global__ void grow(float* c, float factor) { *c = *c * factor + (factor - 1.0f); }

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  multiply(M, N, K, alpha, A, B, beta, C, stream);
  if (++calls > 10) {
    grow<<<1, 1, 0, stream>>>(&C[(size_t)(M / 2) * N + N / 2], 1.0f + 1e-3f * (calls - 10));
  }
}
