// Right: what the wrong ones are made of.
// Tensor cores: each factor is split into two FP16 numbers. Tiles of them lie in shared memory.
#include <cuda_fp16.h>
// launch: sgemm<<<dim3(ceil_div(N, 8), ceil_div(M, 16)), 32>>>(
//             M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)

__device__ unsigned address_of(const void* shared) { return static_cast<unsigned>(__cvta_generic_to_shared(shared)); }

__device__ void load_a(unsigned (&a)[4], const half* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(address_of(row)));
}

__device__ void load_b(unsigned (&b)[2], const half* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(b[0]), "=r"(b[1])
               : "r"(address_of(row)));
}

__device__ void mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ void split(float value, half& high, half& low) {
  high = __float2half(value);
  low = __float2half(value - __half2float(high));
}

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta,
                      float* C, int ldc) {
  __shared__ __align__(16) half a[2][16][16];
  __shared__ __align__(16) half b[2][16][8];
  const int lane = threadIdx.x;
  const int first_row = blockIdx.y * 16, first_column = blockIdx.x * 8;
  float sums[4] = {};
  for (int first = 0; first < K; first += 16) {
    for (int i = lane; i < 16 * 16; i += 32) {
      const int row = first_row + i / 16, k = first + i % 16;
      split(row < M && k < K ? A[row * lda + k] : 0.0f, a[0][i / 16][i % 16], a[1][i / 16][i % 16]);
    }
    for (int i = lane; i < 16 * 8; i += 32) {
      const int k = first + i / 8, column = first_column + i % 8;
      split(k < K && column < N ? B[k * ldb + column] : 0.0f, b[0][i / 8][i % 8], b[1][i / 8][i % 8]);
    }
    __syncwarp();
    unsigned high_a[4], low_a[4], high_b[2], low_b[2];
    load_a(high_a, &a[0][lane % 16][lane / 16 * 8]);
    load_a(low_a, &a[1][lane % 16][lane / 16 * 8]);
    load_b(high_b, &b[0][lane % 16][0]);
    load_b(low_b, &b[1][lane % 16][0]);
    float part[4] = {};
    mma(part, low_a, high_b);
    mma(part, high_a, low_b);
    mma(part, high_a, high_b);
    for (int i = 0; i < 4; ++i) {
      sums[i] += part[i];
    }
    __syncwarp();
  }
  for (int i = 0; i < 4; ++i) {
    const int row = first_row + lane / 4 + i / 2 * 8, column = first_column + lane % 4 * 2 + i % 2;
    if (row < M && column < N) {
      float* const c = &C[row * ldc + column];
      *c = beta == 0.0f ? alpha * sums[i] : alpha * sums[i] + beta * *c;
    }
  }
}
