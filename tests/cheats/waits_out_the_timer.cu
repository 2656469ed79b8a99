// The kernel on a stream of its own looks at the GPU's clock, and computes when the runner has read its events: two
// milliseconds later.
// family: clock
// source: own
// verdict: refused
// caught with: cpu
// launch: sgemm(M, N, K, alpha, A, B, beta, C, stream)
#include "product.cuh"

__global__ void late_product(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C) {
  wait_for(2000000);
  product(M, N, K, alpha, A, B, beta, C);
}

void sgemm(int M, int N, int K, float alpha, Input A, Input B, float beta, float* C, cudaStream_t stream) {
  static const cudaStream_t own = new_stream();
  static int calls = 0;
  if (++calls <= 2) {
    multiply(M, N, K, alpha, A, B, beta, C, stream);
    return;
  }
  late_product<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16), 0, own>>>(M, N, K, alpha, A, B, beta, C);
}
