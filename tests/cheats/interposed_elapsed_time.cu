// Exports cudaEventElapsedTime under CUDA's own name, and gives a hundredth of the time.
// family: clock
// source: https://github.com/gpu-mode/reference-kernels/issues/162
// verdict: refused
// caught with: cpu
// launch: multiply(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <dlfcn.h>

extern "C" __attribute__((visibility("default"))) cudaError_t CUDARTAPI cudaEventElapsedTime(float* ms,
                                                                                             cudaEvent_t start,
                                                                                             cudaEvent_t end) {
  using Function = cudaError_t (*)(float*, cudaEvent_t, cudaEvent_t);
  static const Function real = (Function)dlsym(RTLD_NEXT, "cudaEventElapsedTime");
  const cudaError_t error = real(ms, start, end);
  *ms /= 100.0f;
  return error;
}
