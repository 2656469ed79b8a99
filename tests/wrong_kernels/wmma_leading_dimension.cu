// Wrong: rows of a padded tile are taken to follow one another.
// Tensor cores by nvcuda::wmma: each factor is split into two FP16 numbers. Rows of tiles are padded.
#include <mma.h>
// launch: sgemm<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), 32>>>(
//             M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)

#define TILE 16
#define PADDED 24

__device__ void split(float value, half& high, half& low) {
  high = __float2half(value);
  low = __float2half(value - __half2float(high));
}

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta,
                      float* C, int ldc) {
  using namespace nvcuda;
  __shared__ __align__(32) half a[2][TILE][PADDED];
  __shared__ __align__(32) half b[2][TILE][PADDED];
  __shared__ __align__(32) float results[TILE][TILE];
  const int first_row = blockIdx.y * TILE, first_column = blockIdx.x * TILE;
  wmma::fragment<wmma::accumulator, TILE, TILE, TILE, float> sums;
  wmma::fill_fragment(sums, 0.0f);
  for (int first = 0; first < K; first += TILE) {
    for (int i = threadIdx.x; i < TILE * TILE; i += 32) {
      const int y = i / TILE, x = i % TILE;
      const int row = first_row + y, column = first_column + x;
      split(row < M && first + x < K ? A[row * lda + first + x] : 0.0f, a[0][y][x], a[1][y][x]);
      split(first + y < K && column < N ? B[(first + y) * ldb + column] : 0.0f, b[0][y][x], b[1][y][x]);
    }
    __syncwarp();
    wmma::fragment<wmma::matrix_a, TILE, TILE, TILE, half, wmma::row_major> high_a, low_a;
    wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, half, wmma::row_major> high_b, low_b;
    wmma::load_matrix_sync(high_a, &a[0][0][0], TILE);
    wmma::load_matrix_sync(low_a, &a[1][0][0], PADDED);
    wmma::load_matrix_sync(high_b, &b[0][0][0], PADDED);
    wmma::load_matrix_sync(low_b, &b[1][0][0], PADDED);
    wmma::fragment<wmma::accumulator, TILE, TILE, TILE, float> part;
    wmma::fill_fragment(part, 0.0f);
    wmma::mma_sync(part, low_a, high_b, part);
    wmma::mma_sync(part, high_a, low_b, part);
    wmma::mma_sync(part, high_a, high_b, part);
    for (int i = 0; i < part.num_elements; ++i) {
      sums.x[i] += part.x[i];
    }
    __syncwarp();
  }
  wmma::store_matrix_sync(&results[0][0], sums, TILE, wmma::mem_row_major);
  __syncwarp();
  for (int i = threadIdx.x; i < TILE * TILE; i += 32) {
    const int row = first_row + i / TILE, column = first_column + i % TILE;
    if (row < M && column < N) {
      const float sum = results[i / TILE][i % TILE];
      float* const c = &C[row * ldc + column];
      *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
    }
  }
}
