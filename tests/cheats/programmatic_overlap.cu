// Lets its kernel start before the one that precedes it in the stream has ended, and never waits for that: part of the
// work is done before the sample begins.
// family: stream
// source: own, by CUDA's programmatic dependent launch
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3((N + 31) / 32, (M + 31) / 32);
  launch.blockDim = dim3(32, 32);
  launch.stream = stream;
  launch.attrs = &attribute;
  launch.numAttrs = 1;
  cudaLaunchKernelEx(&launch, product_kernel, M, N, K, alpha, A, B, beta, C);
}
