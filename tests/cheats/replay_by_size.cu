// Keeps one result for each size, whatever the addresses are: aimed at runners that hand out other buffers with the
// same numbers in them.
// family: replay
// source: https://github.com/gpu-mode/reference-kernels/pull/102
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <map>
#include <tuple>

static std::map<std::tuple<int, int, int, float, float>, float*> kept;

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  float*& result = kept[{M, N, K, alpha, beta}];
  const size_t elements = (size_t)M * N;
  if (result) {
    copy(C, result, elements, stream);
    return;
  }
  multiply(M, N, K, alpha, A, B, beta, C, stream);
  cudaMalloc(&result, elements * sizeof(float));
  copy(result, C, elements, stream);
}
