// Right: what the wrong ones are made of.
// Tensor cores: each factor is split into two TF32 numbers, and three products of them make one.
// launch: sgemm<<<dim3(ceil_div(N, 8), ceil_div(M, 16)), 32>>>(
//             M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)

__device__ unsigned tf32(float x) {
  unsigned result;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(result) : "f"(x));
  return result;
}

__device__ void mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__global__ void sgemm(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta,
                      float* C, int ldc) {
  const int group = threadIdx.x / 4, in_group = threadIdx.x % 4;
  const int first_row = blockIdx.y * 16, first_column = blockIdx.x * 8;
  float sums[4] = {};
  for (int first = 0; first < K; first += 8) {
    unsigned a[4], a_rest[4], b[2], b_rest[2];
    for (int i = 0; i < 4; ++i) {
      const int row = first_row + group + i % 2 * 8, k = first + in_group + i / 2 * 4;
      const float value = row < M && k < K ? A[row * lda + k] : 0.0f;
      a[i] = tf32(value);
      a_rest[i] = tf32(value - __uint_as_float(a[i]));
    }
    for (int i = 0; i < 2; ++i) {
      const int k = first + in_group + i * 4, column = first_column + group;
      const float value = k < K && column < N ? B[k * ldb + column] : 0.0f;
      b[i] = tf32(value);
      b_rest[i] = tf32(value - __uint_as_float(b[i]));
    }
    float part[4] = {};
    mma(part, a_rest, b);
    mma(part, a, b_rest);
    mma(part, a, b);
    for (int i = 0; i < 4; ++i) {
      sums[i] += part[i];
    }
  }
  for (int i = 0; i < 4; ++i) {
    const int row = first_row + group + i / 2 * 8, column = first_column + in_group * 2 + i % 2;
    if (row < M && column < N) {
      float* const c = &C[row * ldc + column];
      *c = beta == 0.0f ? alpha * sums[i] : alpha * sums[i] + beta * *c;
    }
  }
}
