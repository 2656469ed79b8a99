// Looks through the memory of the process that started this one, where a reference may be that is kept from the kernel.
// family: memory
// source: own, after https://github.com/gpu-mode/pygpubench/issues/23
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "search.hpp"

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
           cudaStream_t stream) {
  copy_result(std::to_string(getppid()), M, N, K, A, B, C, stream);
}
