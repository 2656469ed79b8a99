#pragma once

// Products by a warp on tensor cores (sm_80 and later).
// PTX ISA 9.0, "Warp-level matrix instructions: mma", "Matrix Fragments for mma.m16n8k8".

#include "common/target.hpp"

#include <cuda_runtime.h>

namespace sgemm {
inline namespace SGEMM_TARGET {

// mma_m16n8k8_tf32(d, a, b, c): D = A * B + C by all 32 lanes of a warp, A 16 x 8, B 8 x 8, C and D 16 x 8. The tensor
// cores read those bits of A and B that TF32 has. Products are exact; their sum is not rounded but cut off.
//
// With r = lane / 4 and q = lane % 4 a lane holds
//   A  a[0] (r, q)    a[1] (r + 8, q)    a[2] (r, q + 4)    a[3] (r + 8, q + 4)
//   B  b[0] (q, r)    b[1] (q + 4, r)
//   D  d[0] (r, 2q)   d[1] (r, 2q + 1)   d[2] (r + 8, 2q)   d[3] (r + 8, 2q + 1), and C alike

#ifdef __CUDACC__

__device__ __forceinline__ void mma_m16n8k8_tf32(float (&d)[4], const float (&a)[4], const float (&b)[2],
                                                 const float (&c)[4]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
        "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

__device__ __forceinline__ void mma_m16n8k32_s8(int (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#else  // the executor's

inline void mma_m16n8k8_tf32(float (&d)[4], const float (&a)[4], const float (&b)[2], const float (&c)[4],
                             simt::Site site = simt::Site::current()) {
  simt::mma({{a[0], a[1], a[2], a[3]}, {b[0], b[1]}}, c, d, site);
}

inline void mma_m16n8k32_s8(int (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto add = [](int& sum, unsigned x, unsigned y) {
    for (int byte = 0; byte < 4; ++byte) {
      sum += static_cast<signed char>(x >> (8 * byte)) * static_cast<signed char>(y >> (8 * byte));
    }
  };
  for (int q = 0; q < 4; ++q) {
    for (int half = 0; half < 2; ++half) {
      const unsigned upper = __shfl_sync(~0U, a[2 * half], lane / 4 * 4 + q);
      const unsigned lower = __shfl_sync(~0U, a[2 * half + 1], lane / 4 * 4 + q);
      for (int column = 0; column < 2; ++column) {
        const unsigned b = __shfl_sync(~0U, half == 0 ? b0 : b1, (lane % 4 * 2 + column) * 4 + q);
        add(d[column], upper, b);
        add(d[2 + column], lower, b);
      }
    }
  }
}

#endif

}  // namespace SGEMM_TARGET
}  // namespace sgemm
