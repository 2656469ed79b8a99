// Inline PTX: wgmma of FP16 and BF16 with operands in shared memory, in swizzled rows of 128 bytes, and with A in
// registers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ unsigned long long descriptor_of(const void* tile) {
  const unsigned long long address = __cvta_generic_to_shared(tile);
  return (address & 0x3FFFF) >> 4 | 1ull << 16 | (unsigned long long)(1024 >> 4) << 32 | 1ull << 62;
}

template <class T>
__device__ void fill(T* tile, int rows, int sign) {
  for (int i = threadIdx.x; i < rows * 64; i += 128) {
    const int row = i / 64, k = i % 64;
    tile[(row * 64 + k) ^ (row % 8 * 8)] = T(float((row + sign * k) % 16));
  }
}

#define WGMMA_16(TYPES, A, B, SCALE)                                                            \
  "{ .reg .pred p; setp.ne.b32 p, " SCALE ", 0;\nwgmma.mma_async.sync.aligned.m64n16k16." TYPES \
  " {%0, %1, %2, %3, %4, %5, %6, %7}, " A ", " B ", p, "
#define RESULTS "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])

__global__ void ptx_wgmma_kernel(float* out) {
  constexpr int SIGN = 1;
  extern __shared__ __align__(1024) half tiles[];
  __shared__ __align__(1024) __nv_bfloat16 columns[16 * 64];
  fill(tiles, 64, 1);
  fill(tiles + 4096, 16, -1);
  fill(columns, 16, -1);
  __syncthreads();
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  float d[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  for (int k = 0; k < 2; ++k) {  // of A B^T + 1, as far as 32 of k
    asm volatile(WGMMA_16("f32.f16.f16", "%8", "%9", "%10") "%11, %12, 0, 0; }"
                 : RESULTS
                 : "l"(descriptor_of(tiles + 16 * k)), "l"(descriptor_of(tiles + 4096 + 16 * k)), "r"(1),
                   "n"(int(SIGN)), "n"(SIGN));
  }
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
  const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
  bool right = true;
  const auto compare = [&](int ks, float first, bool ones) {
    for (int i = 0; i < 8; ++i) {
      float expected = first;
      for (int k = 0; k < ks; ++k) {
        expected +=
            (ones ? 1 : (row + i / 2 % 2 * 8 + k) % 16) * ((i / 4 * 8 + int(threadIdx.x) % 4 * 2 + i % 2 - k) % 16);
      }
      right = right && d[i] == expected;
    }
  };
  compare(32, 1, false);
  const unsigned one = 0x3F803F80;  // two in BF16
  asm volatile(WGMMA_16("f32.bf16.bf16", "{%8, %8, %8, %8}", "%9", "%10") "1, 1, 0; }"
               : RESULTS
               : "r"(one), "l"(descriptor_of(columns)), "r"(0));
  compare(16, 0, true);
  if (threadIdx.x % 2 == 0) out[threadIdx.x / 2] = right;
}

void ptx_wgmma(const float*, float* out) { ptx_wgmma_kernel<<<1, 128, 16384>>>(out); }

float ptx_wgmma_expected(const float*, int) { return 1; }
