// Computes one row only in calls 4 to 11, which are neither the first nor the last of a measurement.
// family: skip
// source: https://github.com/gpu-mode/reference-kernels/issues/148
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <map>
#include <tuple>

static std::map<std::tuple<int, int, int>, int> calls;

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  const int call = ++calls[{M, N, K}];
  multiply(call >= 4 && call <= 11 ? 1 : M, N, K, alpha, A, B, beta, C, stream);
}
