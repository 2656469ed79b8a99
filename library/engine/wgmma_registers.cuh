#pragma once

// The product of kernels/ptx/wgmma.cuh with A in registers.

#include "common/target.hpp"
#include "ptx/wgmma.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sgemm::SGEMM_TARGET {

// wgmma_m64k16_bf16(d, a, b, accumulate): wgmma_m64n128k16<Bf16> with A in registers, of twice as many columns as a
// thread has results, 16, 32 or 64: the first 32, 64 or 128 columns of B. A thread holds these elements of A, two of
// neighbouring k to a register and the lower k in the lower half:
//   a[0] row 16w + r, k = 2q and 2q + 1; a[1] the same k of row 16w + r + 8; a[2], a[3] as a[0], a[1] with k 8 higher
// That is A of mma.sync.m16n8k16, in each warp its own 16 rows. The product reads these registers while it is under
// way: nothing may change them until it has been waited for. wgmma_fence() orders them as it does those of D.

#ifndef __CUDACC__

template <int RESULTS>
void wgmma_m64k16_bf16(float (&d)[RESULTS], const unsigned (&a)[4], std::uint64_t b, bool accumulate,
                       simt::Site site = simt::Site::current()) {
  simt::wgmma(simt::MmaFormat::bf16, d, 2 * RESULTS, a, static_cast<unsigned>(b), accumulate, site);
}

#else

template <int RESULTS>
__device__ __forceinline__ void wgmma_m64k16_bf16(float (&d)[RESULTS], const unsigned (&a)[4], std::uint64_t b,
                                                  bool accumulate) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  static_assert(RESULTS == 16 || RESULTS == 32 || RESULTS == 64);
// Texts and registers of D, sixteen by sixteen.
#define SGEMM_TEXT_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define SGEMM_TEXT_32 SGEMM_TEXT_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define SGEMM_TEXT_64                                                                            \
  SGEMM_TEXT_32                                                                                  \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, " \
  "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define SGEMM_D_4(I) "+f"(d[I]), "+f"(d[(I) + 1]), "+f"(d[(I) + 2]), "+f"(d[(I) + 3])
#define SGEMM_D_16(I) SGEMM_D_4(I), SGEMM_D_4((I) + 4), SGEMM_D_4((I) + 8), SGEMM_D_4((I) + 12)
#define SGEMM_WGMMA(COLUMNS, TEXT, A_AND_B, ACCUMULATE, ...)                                                \
  asm volatile("{\n .reg .pred add;\n setp.ne.b32 add, " ACCUMULATE                                         \
               ", 0;\n wgmma.mma_async.sync.aligned.m64n" #COLUMNS "k16.f32.bf16.bf16 {" TEXT "}, " A_AND_B \
               ", add, 1, 1, 0;\n}"                                                                         \
               : __VA_ARGS__                                                                                \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)))
  if constexpr (RESULTS == 16) {
    SGEMM_WGMMA(32, SGEMM_TEXT_16, "{%16, %17, %18, %19}, %20", "%21", SGEMM_D_16(0));
  } else if constexpr (RESULTS == 32) {
    SGEMM_WGMMA(64, SGEMM_TEXT_32, "{%32, %33, %34, %35}, %36", "%37", SGEMM_D_16(0), SGEMM_D_16(16));
  } else {
    SGEMM_WGMMA(128, SGEMM_TEXT_64, "{%64, %65, %66, %67}, %68", "%69", SGEMM_D_16(0), SGEMM_D_16(16), SGEMM_D_16(32),
                SGEMM_D_16(48));
  }
#undef SGEMM_WGMMA
#undef SGEMM_D_16
#undef SGEMM_D_4
#undef SGEMM_TEXT_64
#undef SGEMM_TEXT_32
#undef SGEMM_TEXT_16
#else
  __trap();
#endif
}

#endif

}  // namespace sgemm::SGEMM_TARGET
