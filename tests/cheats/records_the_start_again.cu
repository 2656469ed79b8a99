// Catches the runner's start event on its way through the table of imported functions, and records it once more when
// the work has been done.
// family: clock
// source: own, after https://github.com/gpu-mode/reference-kernels/issues/162
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "patch.hpp"
#include "product.cuh"

static cudaError_t (*real)(cudaEvent_t, cudaStream_t);
static cudaEvent_t latest;

static cudaError_t noted(cudaEvent_t event, cudaStream_t stream) {
  latest = event;
  return real(event, stream);
}

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  if (!real) {
    real = cudaEventRecord;
    replace_imports("cudaEventRecord", (void*)noted);
  }
  multiply(M, N, K, alpha, A, B, beta, C, stream);
  if (latest) {
    real(latest, stream);
  }
}
