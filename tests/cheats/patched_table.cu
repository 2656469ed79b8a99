// Finds the program's own table of imported functions and puts a cudaEventElapsedTime there that gives a hundredth.
// family: clock
// source: own, after https://github.com/gpu-mode/pygpubench/issues/23
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "patch.hpp"
#include "product.cuh"

static cudaError_t (*real)(float*, cudaEvent_t, cudaEvent_t);

static cudaError_t hundredth(float* ms, cudaEvent_t start, cudaEvent_t end) {
  const cudaError_t error = real(ms, start, end);
  *ms /= 100.0f;
  return error;
}

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  if (!real) {
    real = cudaEventElapsedTime;
    replace_imports("cudaEventElapsedTime", (void*)hundredth);
  }
  multiply(M, N, K, alpha, A, B, beta, C, stream);
}
