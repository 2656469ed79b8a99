// A stream of its own reads A and B again a tenth of a millisecond after each call, when the flush for the next sample
// is over, so that they lie in the L2 when it begins.
// family: L2
// source: own
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

__global__ void read_later(const float* A, size_t size_a, const float* B, size_t size_b, float* sink) {
  wait_for(100000);
  float sum = 0.0f;
  const size_t first = (size_t)blockIdx.x * blockDim.x + threadIdx.x, step = (size_t)gridDim.x * blockDim.x;
  for (size_t i = first; i < size_a; i += step) {
    sum += A[i];
  }
  for (size_t i = first; i < size_b; i += step) {
    sum += B[i];
  }
  if (sum == 1234.5f) {
    *sink = sum;
  }
}

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  static cudaStream_t own = nullptr;
  static cudaEvent_t done;
  static float* sink;
  if (!own) {
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
    cudaMalloc(&sink, sizeof(float));
  }
  multiply(M, N, K, alpha, A, B, beta, C, stream);
  cudaEventRecord(done, stream);
  cudaStreamWaitEvent(own, done, 0);
  read_later<<<16, 1024, 0, own>>>(A, (size_t)M * K, B, (size_t)K * N, sink);
}
