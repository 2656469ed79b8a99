// Inline PTX of warps: shuffles that say whether they reach, votes, elect.sync, products of bytes, mma.sync of
// integers.
__device__ int dot(int a, int b, int c) {
  int d;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

__global__ void ptx_warps_kernel(float* out) {
  const int lane = threadIdx.x % 32;
  int before, inside, elected, first;
  asm volatile("{ .reg .pred p; shfl.sync.up.b32 %0|p, %2, 3, 0, -1; selp.s32 %1, 1, 0, p; }"
               : "=r"(before), "=r"(inside)
               : "r"(lane));
  asm volatile(
      "{\n .reg .b32 %%rx; .reg .pred %%px;\n elect.sync %%rx|%%px, %2;\n mov.s32 %0, 0;\n"
      " @%%px mov.s32 %0, 1;\n mov.s32 %1, %%rx;\n}"
      : "+r"(elected), "=r"(first)
      : "r"(0xFFFFFFFF));
  unsigned odd;
  asm volatile("{ .reg .pred p; setp.eq.u32 p, %1, 1; vote.sync.ballot.b32 %0, p, 0xFFFFFFFF; }"
               : "=r"(odd)
               : "r"(lane % 2));
  // A(i, k) = i - k and B(k, j) = k + j, with sums that saturate at 2^31 - 1.
  int a = 0, b = 0, sums[2] = {lane % 4, 2147483647}, full[4] = {0, 0, 0, 2147483647};
  for (int k = 0; k < 4; ++k) {
    a |= ((lane / 4 - lane % 4 * 4 - k) & 255) << 8 * k;
    b |= (lane % 4 * 4 + k + lane / 4) << 8 * k;
  }
  asm volatile("mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+r"(sums[0]), "+r"(sums[1])
               : "r"(a), "r"(b));
  asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4, %5}, {%6}, {%0,%1,%2,%3};"
               : "+r"(full[0]), "+r"(full[1]), "+r"(full[2]), "+r"(full[3])
               : "r"(0), "r"(a), "r"(b));
  float result = before + 100 * inside + 200 * (elected == (lane == 0)) + 400 * (first == 0 && odd == 0xAAAAAAAA);
  result += 800 * (__dp4a(int(0x80FF0102), 0x7F020304, 5) == -128 * 127 - 2 + 3 + 8 + 5);
  result += 1600 * (dot(0x80FF0102, 0x7FFE0304, 5) == 128 * 127 - 255 * 2 + 3 + 8 + 5);
  for (int i = 0; i < 2; ++i) {
    int expected = 0;
    for (int k = 0; k < 16; ++k) expected += (lane / 4 - k) * (k + lane % 4 * 2 + i);
    const bool right =
        i == 0 ? sums[0] == expected + lane % 4 : sums[1] == (expected > 0 ? 2147483647 : 2147483647 + expected);
    const int wrapped = int(2147483647u + expected);
    result += 3200 * (right && full[i] == 0 && full[2 + i] == (i == 0 ? expected : wrapped));
  }
  out[threadIdx.x] = result;
}

void ptx_warps(const float*, float* out) { ptx_warps_kernel<<<1, 64>>>(out); }

float ptx_warps_expected(const float*, int i) {
  const int lane = i % 32;
  return (lane < 3 ? lane : lane - 3 + 100) + 200 + 400 + 800 + 1600 + 6400;
}
