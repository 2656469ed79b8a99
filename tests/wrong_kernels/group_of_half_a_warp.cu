// Wrong: the group that adds has half of the lanes.
// A warp computes an element of C: a tile of cooperative groups adds what the lanes have.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
// launch: sgemm<<<dim3(N, M), 32>>>(
//             M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta,
                      float* C, int ldc) {
  namespace cg = cooperative_groups;
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  const int row = blockIdx.y, column = blockIdx.x;
  float sum = 0.0f;
  for (int k = threadIdx.x; k < K; k += 32) {
    sum += A[row * lda + k] * B[k * ldb + column];
  }
  sum = cg::reduce(tile, sum, cg::plus<float>());
  if (threadIdx.x == 0) {
    float* const c = &C[row * ldc + column];
    *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
  }
}
