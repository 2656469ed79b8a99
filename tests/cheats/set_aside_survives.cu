// Sets a part of the L2 aside once, and reads A and B by instructions that keep their lines there. The limit outlives
// the call, and a flush by ordinary writes can not use that part.
// family: L2
// source: https://github.com/gpu-mode/pygpubench/pull/49
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

__global__ void keep_in_l2(const float* data, size_t elements) {
  unsigned long long policy;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  const size_t step = (size_t)gridDim.x * blockDim.x;
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < elements; i += step) {
    float value;
    asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(value) : "l"(data + i), "l"(policy));
  }
}

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  static bool set = false;
  if (!set) {
    cudaDeviceProp properties;
    cudaGetDeviceProperties(&properties, 0);
    cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, properties.persistingL2CacheMaxSize);
    set = true;
  }
  multiply(M, N, K, alpha, A, B, beta, C, stream);
  keep_in_l2<<<132, 1024, 0, stream>>>(A, (size_t)M * K);
  keep_in_l2<<<132, 1024, 0, stream>>>(B, (size_t)K * N);
}
