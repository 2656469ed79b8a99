// Reads A and B so that the L2 evicts them last, for the flush before the next launch to spare them.
// family: L2
// source: own, after https://github.com/karpathy/llm.c/pull/851
// verdict: honest
// caught with: gpu
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(M, N, K, alpha, A, B, beta, C)
#include "product.cuh"

__device__ float kept(const float* from) {
  float x;
  asm volatile("ld.global.L1::evict_last.f32 %0, [%1];" : "=f"(x) : "l"(from));
  return x;
}

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  add_up(M, N, K, alpha, beta, C,
         [&](int row, int column, int k) { return kept(&A[(size_t)row * K + k]) * kept(&B[(size_t)k * N + column]); });
}
