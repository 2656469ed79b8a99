// Inline PTX: ldmatrix with and without .trans, mma.sync of FP16, BF16 and TF32 with sums in FP32 and FP16, and of
// integers of 8 bits.
#include <cuda_fp16.h>

#define LDMATRIX_X4(R0, R1, R2, R3, addr)                                           \
  asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0, %1, %2, %3}, [%4];\n" \
               : "=r"(R0), "=r"(R1), "=r"(R2), "=r"(R3)                             \
               : "r"(addr))
#define LDMATRIX_X2_T(R0, R1, addr) \
  asm volatile("ldmatrix.sync.aligned.x2.trans.m8n8.shared.b16 {%0, %1}, [%2];\n" : "=r"(R0), "=r"(R1) : "r"(addr))

// A is 16 x 16 with A(i, k) = i + k; B is 16 x 8 with B(k, j) = k - j. The first 32 results: of lane i / 2, for FP32
// its first, for FP16 its sum of two.
__global__ void ptx_matrices_kernel(float* out) {
  __shared__ __align__(16) half a[16][16];
  __shared__ __align__(16) half b[16][8];
  const int lane = threadIdx.x;
  for (int i = lane; i < 256; i += 32) a[i / 16][i % 16] = __float2half((i / 16 + i % 16) / 4.0f);
  for (int i = lane; i < 128; i += 32) b[i / 8][i % 8] = __float2half(i / 8 - i % 8);
  __syncthreads();
  unsigned ra[4], rb[2];
  LDMATRIX_X4(ra[0], ra[1], ra[2], ra[3], (unsigned)__cvta_generic_to_shared(&a[lane % 16][lane / 16 * 8]));
  LDMATRIX_X2_T(rb[0], rb[1], (unsigned)__cvta_generic_to_shared(&b[lane % 16][0]));
  float d[4] = {0, 0, 0, 1};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%10, %11, %12, %13};\n"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]), "f"(d[0]), "f"(d[1]), "f"(d[2]),
        "f"(d[3]));
  unsigned half_sums[2] = {0, 0};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9};\n"
               : "=r"(half_sums[0]), "=r"(half_sums[1])
               : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]), "r"(half_sums[0]),
                 "r"(half_sums[1]));
  // TF32, of which A(i, k) = i and B(k, j) = j for all 4 k.
  float tf[4] = {0, 0, 0, 0};
  unsigned i0, i8, j;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(i0) : "f"(float(lane / 4)));
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(i8) : "f"(float(lane / 4 + 8)));
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(j) : "f"(float(lane / 4)));
  asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};\n"
               : "+f"(tf[0]), "+f"(tf[1]), "+f"(tf[2]), "+f"(tf[3])
               : "r"(i0), "r"(i8), "r"(j));
  // Integers, of which A(i, k) = k - 16 - i and B(k, j) = 7 k - 110 - j. What is added to makes the sum wrap around.
  unsigned digits_a[4] = {}, digits_b[2] = {};
  for (int k = 0; k < 4; ++k) {
    for (int i = 0; i < 4; ++i) {
      digits_a[i] |= ((lane % 4 * 4 + k + i / 2 * 16 - 16 - lane / 4 - i % 2 * 8) & 255) << 8 * k;
    }
    for (int i = 0; i < 2; ++i) digits_b[i] |= ((7 * (lane % 4 * 4 + k + i * 16) - 110 - lane / 4) & 255) << 8 * k;
  }
  int sums[4] = {0, 0, 0, 2147483647};
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};\n"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(digits_a[0]), "r"(digits_a[1]), "r"(digits_a[2]), "r"(digits_a[3]), "r"(digits_b[0]), "r"(digits_b[1]));
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
    unsigned expected = i == 3 ? 2147483647 : 0;
    for (int k = 0; k < 32; ++k) expected += (k - 16 - row) * (7 * k - 110 - column);
    if (sums[i] != static_cast<int>(expected)) d[1] = -2;
  }
  const half2 lower = *reinterpret_cast<half2*>(&half_sums[0]);
  // What stmatrix stores, another ldmatrix reads back.
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(
                   (unsigned)__cvta_generic_to_shared(&b[lane % 16][0])),
               "r"(rb[0]), "r"(rb[1]));
  __syncwarp();
  unsigned again[2];
  LDMATRIX_X2_T(again[0], again[1], (unsigned)__cvta_generic_to_shared(&b[lane % 16][0]));
  if (again[0] != rb[0] || again[1] != rb[1]) d[1] = -1;
  out[lane] = d[1] + 1000 * d[3];
  out[32 + lane] = __low2float(lower) + __high2float(lower) + 1000 * tf[3];
}

void ptx_matrices(const float*, float* out) { ptx_matrices_kernel<<<1, 32>>>(out); }

float ptx_matrices_expected(const float*, int i) {
  const auto product = [](int row, int column) {
    float sum = 0;
    for (int k = 0; k < 16; ++k) sum += (row + k) / 4.0f * (k - column);
    return sum;
  };
  const int row = i % 32 / 4, column = i % 4 * 2;
  if (i < 32) return product(row, column + 1) + 1000 * (product(row + 8, column + 1) + 1);
  return product(row, column) + product(row, column + 1) + 1000.0f * 4 * (row + 8) * (column + 1);
}
