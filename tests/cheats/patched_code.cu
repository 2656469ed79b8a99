// Overwrites the first bytes of cudaEventElapsedTime itself with a jump to a function that always gives one
// microsecond.
// family: clock
// source: own, after https://github.com/gpu-mode/reference-kernels/issues/162
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <string.h>
#include <sys/mman.h>

static cudaError_t microsecond(float* ms, cudaEvent_t, cudaEvent_t) {
  *ms = 1e-3f;
  return cudaSuccess;
}

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  static bool patched = false;
#ifdef __x86_64__
  if (!patched) {
    unsigned char jump[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};  // mov rax, address; jmp rax
    void* const target = (void*)microsecond;
    memcpy(jump + 2, &target, 8);
    unsigned char* const code = (unsigned char*)cudaEventElapsedTime;
    void* const page = (void*)((size_t)code & ~(size_t)4095);
    if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) == 0) {
      memcpy(code, jump, sizeof(jump));
    }
  }
#endif
  patched = true;
  multiply(M, N, K, alpha, A, B, beta, C, stream);
}
