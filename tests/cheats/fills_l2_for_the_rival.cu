// Reads 32 MiB of workspace at its end so that the L2 evicts them last: the rival, which may come next, has what is
// left.
// family: L2
// source: own, after https://github.com/NVIDIA/nvbench/issues/458
// verdict: honest
// caught with: gpu
// workspace: 32 << 20
// launch: product_kernel<<<dim3(ceil_div(N, 32), ceil_div(M, 32)), dim3(32, 32)>>>(M, N, K, alpha, A, B, beta,
// C); fill<<<132, 256>>>((const char*)workspace)
#include "product.cuh"

__global__ void fill(const char* memory) {
  unsigned long long policy;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  for (size_t at = (blockIdx.x * (size_t)256 + threadIdx.x) * 32; at < 32 << 20; at += gridDim.x * (size_t)256 * 32) {
    float x;
    asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(x) : "l"(memory + at), "l"(policy));
  }
}
