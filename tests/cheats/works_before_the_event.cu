// The host's call comes while earlier work still holds the runner's stream up. A stream of its own computes right then,
// before the start event happens, and the runner's stream copies the result.
// family: stream
// source: own
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <map>
#include <tuple>

static std::map<std::tuple<int, int, int>, float*> results;

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  static cudaStream_t own = nullptr;
  static cudaEvent_t done;
  if (!own) {
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  }
  if (beta != 0.0f) {  // C may not be there yet
    multiply(M, N, K, alpha, A, B, beta, C, stream);
    return;
  }
  float*& result = results[{M, N, K}];
  if (!result) {
    cudaMalloc(&result, sizeof(float) * M * N);
  }
  multiply(M, N, K, alpha, A, B, 0.0f, result, own);
  cudaEventRecord(done, own);
  cudaStreamWaitEvent(stream, done, 0);
  copy(C, result, (size_t)M * N, stream);
}
