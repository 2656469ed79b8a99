// nvcuda::wmma: FP16, BF16 and TF32 of all shapes, both layouts, fragments changed element by element.
#include <mma.h>

using namespace nvcuda;

/// How many of this lane's elements of A * B + 1 are wrong, of whole numbers.
template <class T, class Number, int M, int N, int K>
__device__ int wrong_sums() {
  __shared__ __align__(32) Number a[M * K], b[K * N];
  __shared__ __align__(32) float c[M * N];
  for (int i = threadIdx.x; i < M * K; i += 32) a[i] = Number(wmma::__float_to_tf32(i % 7 - 3));
  for (int i = threadIdx.x; i < K * N; i += 32) b[i] = Number(float(i % 5 - 2));
  __syncwarp();
  wmma::fragment<wmma::matrix_a, M, N, K, T, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, T, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, M, N, K, float> fc;
  wmma::fill_fragment(fc, 1.0f);
  wmma::load_matrix_sync(fa, a, K);
  wmma::load_matrix_sync(fb, b, K);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, N, wmma::mem_row_major);
  __syncwarp();
  int wrong = 0;
  for (int i = threadIdx.x; i < M * N; i += 32) {
    float sum = 1;
    for (int k = 0; k < K; ++k) sum += float(a[i / N * K + k]) * float(b[i % N * K + k]);
    wrong += c[i] != sum;
  }
  return wrong;
}

__global__ void wmma_kernel(const float* in, float* out) {
  __shared__ __align__(32) half a[16 * 16];
  __shared__ __align__(32) half b[16 * 16];
  __shared__ __align__(32) float c[16 * 16];
  for (int i = threadIdx.x; i < 256; i += 32) {
    a[i] = __float2half(i / 16 == i % 16 ? 2.0f : 0.0f);
    b[i] = __float2half(in[i % 64]);
  }
  __syncthreads();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 1.0f);
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  for (int i = 0; i < fc.num_elements; ++i) fc.x[i] *= 3.0f;
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
  __syncthreads();
  out[threadIdx.x] = c[threadIdx.x];

  out[32 + threadIdx.x] = wrong_sums<half, half, 32, 8, 16>() + wrong_sums<__nv_bfloat16, __nv_bfloat16, 8, 32, 16>() +
                          wrong_sums<wmma::precision::tf32, float, 16, 16, 8>();
}

void wmma_fragments(const float* in, float* out) { wmma_kernel<<<1, 32>>>(in, out); }

// Row r of twice the identity times B, where B(k, j) = in[16 j + k].
float wmma_fragments_expected(const float* in, int i) {
  return i < 32 ? 3 * (2 * in[(i % 16 * 16 + i / 16) % 64] + 1) : 0;
}
