// Marks A and B as persisting in the L2 on the runner's stream, so that its flush does not drive them out.
// family: L2
// source: https://github.com/karpathy/llm.c/pull/851
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, 0);
  cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, properties.persistingL2CacheMaxSize);
  const size_t bytes = sizeof(float) * K * N, most = properties.accessPolicyMaxWindowSize;
  cudaStreamAttrValue window{};
  window.accessPolicyWindow.base_ptr = (void*)B;
  window.accessPolicyWindow.num_bytes = bytes < most ? bytes : most;
  window.accessPolicyWindow.hitRatio = 1.0f;
  window.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  window.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &window);
  multiply(M, N, K, alpha, A, B, beta, C, stream);
}
