// Remembers the matrices of all calls. The first of eight calls computes all products that it remembers, the next seven
// do nothing.
// family: replay
// source: https://github.com/gpu-mode/reference-kernels/pull/104
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

#include <set>
#include <tuple>

static std::set<std::tuple<int, int, int, const float*, const float*, float*>> known;
static int calls = 0;

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  const bool is_new = known.insert({M, N, K, A, B, C}).second;
  if (is_new) {
    multiply(M, N, K, alpha, A, B, beta, C, stream);
  }
  if (calls++ % 8 != 0) {
    return;
  }
  for (const auto& [m, n, k, a, b, c] : known) {
    if (m == M && n == N && k == K) {
      multiply(m, n, k, alpha, a, b, beta, c, stream);
    }
  }
}
