// nvcuda::wmma: FP16, BF16 and TF32, both layouts, fragments changed element by element.
#include <mma.h>

using namespace nvcuda;

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

  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> ta;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> tb;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> tc;
  wmma::fill_fragment(tc, 0.0f);
  wmma::fill_fragment(ta, wmma::__float_to_tf32(1.0f));
  wmma::fill_fragment(tb, 2.0f);
  wmma::mma_sync(tc, ta, tb, tc);
  out[32 + threadIdx.x] = tc.x[0];
}

void wmma_fragments(const float* in, float* out) { wmma_kernel<<<1, 32>>>(in, out); }

// Row r of twice the identity times B, where B(k, j) = in[16 j + k].
float wmma_fragments_expected(const float* in, int i) {
  return i < 32 ? 3 * (2 * in[(i % 16 * 16 + i / 16) % 64] + 1) : 16;
}
