#pragma once

// Products by a warp on tensor cores (sm_80 and later), and the loads of their operands from shared memory.
// PTX ISA 9.0, "Warp-level matrix instructions: mma, ldmatrix", "Matrix Fragments for mma.m16n8k8", "... mma.m16n8k16"
// and "... mma.m16n8k32".

#include "common/target.hpp"

#include <cuda_runtime.h>

namespace sgemm::SGEMM_TARGET {

// mma_m16n8k8_tf32(d, a, b, c): D = A * B + C by all 32 lanes of a warp, A 16 x 8, B 8 x 8, C and D 16 x 8. The tensor
// cores read those bits of A and B that TF32 has. Products are exact; their sum is not rounded but cut off.
//
// With r = lane / 4 and q = lane % 4 a lane holds
//   A  a[0] (r, q)    a[1] (r + 8, q)    a[2] (r, q + 4)    a[3] (r + 8, q + 4)
//   B  b[0] (q, r)    b[1] (q + 4, r)
//   D  d[0] (r, 2q)   d[1] (r, 2q + 1)   d[2] (r + 8, 2q)   d[3] (r + 8, 2q + 1), and C alike
//
// mma_m16n8k16_fp16(d, a, b0, b1, c): the same for FP16 numbers, A 16 x 16 and B 16 x 8, with C and D in FP32. A
// register holds two of neighbouring k, the lower k in the lower half:
//   A  a[0] (r, 2q)   a[1] (r + 8, 2q)   a[2] (r, 2q + 8)   a[3] (r + 8, 2q + 8)
//   B  b0 (2q, r)     b1 (2q + 8, r)
//
// mma_m16n8k32_s8(d, a, b0, b1): D += A * B, with d the first of four registers of D, for signed integers of 8 bits, A
// 16 x 32 and B 32 x 8, with D in INT32. A register holds four of neighbouring k, from 4q on where numbers of 16 bits
// have two from 2q on. Everything is exact; a sum beyond 32 bits wraps around.

// ldmatrix_x4(to, row): loads four matrices of eight rows of 16 bytes, by all 32 lanes of a warp. Lane 8i + j gives the
// shared address of row j of matrix i, a multiple of 16. Register i of lane 4r + q then holds bytes 4q to 4q + 3 of row
// r of matrix i. Eight rows are read at a time, without a bank conflict if they lie in distinct 16 bytes of 128.

#if defined(__CUDACC__) && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)

__device__ __forceinline__ void ldmatrix_x4(unsigned (&to)[4], unsigned row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row)
               : "memory");
}

__device__ __forceinline__ void mma_m16n8k8_tf32(float (&d)[4], const float (&a)[4], const float (&b)[2],
                                                 const float (&c)[4]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
        "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

__device__ __forceinline__ void mma_m16n8k16_fp16(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1,
                                                  const float (&c)[4]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

__device__ __forceinline__ void mma_m16n8k32_s8(int* d, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#endif

}  // namespace sgemm::SGEMM_TARGET
