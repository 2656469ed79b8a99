// Inline PTX: roundings, comparisons with NaN, wide shifts and products, logic by tables, bytes, bit fields, shuffles.
__device__ float floor_of(float x) {
  float y;
  asm("cvt.rmi.f32.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ int nearest(float x) {
  int y;
  asm("cvt.rni.s32.f32 %0, %1;" : "=r"(y) : "f"(x));
  return y;
}
__device__ int ceiling(float x) {
  int y;
  asm("cvt.rpi.s32.f32 %0, %1;" : "=r"(y) : "f"(x));
  return y;
}
__device__ unsigned is_not(float x, float y) {
  unsigned result;
  asm("{ .reg .pred p;\n setp.ne.f32 p, %1, %2;\n selp.u32 %0, 1, 0, p; }" : "=r"(result) : "f"(x), "f"(y));
  return result;
}

__global__ void ptx_arithmetic_kernel(const float* in, float* out) {
  const int i = threadIdx.x;
  const float half = in[i] * 0.5f;
  float result = floor_of(half) + 8 * nearest(half) + 64 * ceiling(half);
  result += 100 * is_not(in[i], 3) + 1000 * is_not(nanf(""), 3);
  unsigned shifted, sign, logic, bytes, field, other;
  asm("shl.b32 %0, %1, %2;" : "=r"(shifted) : "r"(1u), "r"(32u + i));
  asm("shr.s32 %0, %1, %2;" : "=r"(sign) : "r"(0x80000000u), "r"(40u));
  asm("lop3.b32 %0, %1, %2, %3, 0xE8;" : "=r"(logic) : "r"(12u), "r"(10u), "r"(i % 2 ? 15u : 0u));
  asm("prmt.b32 %0, %1, %2, 0x4321;" : "=r"(bytes) : "r"(0x03020100u), "r"(0x07060504u));
  asm("bfe.u32 %0, %1, 4, 8;" : "=r"(field) : "r"(0x12345u));
  asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 0x1f, 0xffffffff;" : "=r"(other) : "r"(i));
  unsigned long long wide;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(wide) : "r"(0x80000000u), "r"(4u));
  result += shifted + (sign == 0xFFFFFFFFu) + logic + (bytes == 0x04030201u) + (field == 0x34u) + (wide == 1ull << 33);
  out[i] = result + 10000 * other;
}

void ptx_arithmetic(const float* in, float* out) { ptx_arithmetic_kernel<<<1, 64>>>(in, out); }

float ptx_arithmetic_expected(const float* in, int i) {
  const float half = in[i] * 0.5f;
  const int down = int(half);
  const int up = down + (half > down);
  const int even = half > down ? (down % 2 ? up : down) : down;
  return down + 8 * even + 64 * up + 100 * (in[i] != 3) + (i % 2 ? 14 : 8) + 4 + 10000 * (i ^ 1);
}
