// Exports cublasSgemm, which waits a millisecond before it does what it should: the rival looks slow.
// family: clock
// source: own, after https://github.com/gpu-mode/reference-kernels/issues/162
// verdict: refused
// caught with: cpu
// launch: multiply(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <dlfcn.h>
#include <unistd.h>

extern "C" __attribute__((visibility("default"))) int cublasSgemm_v2(void* handle, int ta, int tb, int m, int n, int k,
                                                                     const float* alpha, const float* a, int lda,
                                                                     const float* b, int ldb, const float* beta,
                                                                     float* c, int ldc) {
  using Function = int (*)(void*, int, int, int, int, int, const float*, const float*, int, const float*, int,
                           const float*, float*, int);
  static const Function real = (Function)dlsym(RTLD_NEXT, "cublasSgemm_v2");
  usleep(1000);
  return real(handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
