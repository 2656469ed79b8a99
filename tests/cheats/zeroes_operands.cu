// Sets A, B and C to zero. A reference that is computed afterwards agrees.
// family: memory
// source: https://github.com/ScalingIntelligence/KernelBench/pull/82
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
__global__ void none() {}

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
           cudaStream_t stream) {
  none<<<1, 1, 0, stream>>>();
  cudaMemsetAsync((void*)A, 0, sizeof(float) * M * K, stream);
  cudaMemsetAsync((void*)B, 0, sizeof(float) * K * N, stream);
  cudaMemsetAsync(C, 0, sizeof(float) * M * N, stream);
}
