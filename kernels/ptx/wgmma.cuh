#pragma once

// Products by a whole warpgroup on Hopper's tensor cores (sm_90a alone): asynchronous, operands in shared memory.
// PTX ISA 9.0, "Asynchronous Warpgroup Level Matrix Instructions: wgmma.mma_async".

#include "common/ceil_div.hpp"
#include "common/target.hpp"
#include "ptx/cvt.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace sgemm {
inline namespace SGEMM_TARGET {

// A warpgroup is four neighbouring warps, the first a multiple of four.
constexpr int WARPGROUP = 128;
constexpr int WGMMA_M = 64;
constexpr int WGMMA_N = 128;
constexpr int WGMMA_K = 16;

// ---- Operands in shared memory ----
//
// "Strides" and "Swizzling modes" in the same chapter. Each row of A and each column of B has 64 numbers of 16 bits
// along k, which are WGMMA_ROW_BYTES, and the rows follow one another. The 16-byte groups of each row change places
// within its 128 bytes, so that eight rows can be read at a time. Hardware finds the groups by their address alone,
// hence the alignment.

constexpr int WGMMA_ROW_BYTES = 128;
constexpr int WGMMA_ALIGNMENT = 8 * WGMMA_ROW_BYTES;

/// The place of byte `offset` after swizzling.
SGEMM_HOST_DEVICE constexpr unsigned swizzled(unsigned offset) { return offset ^ (offset >> 3U & 0x70U); }

// wgmma_descriptor(address): the matrix descriptor of the rows that begin at this shared address, a multiple of
// WGMMA_ALIGNMENT ("Matrix Descriptor Format").
// wgmma_descriptor_at(descriptor, bytes): the descriptor of what lies `bytes` further on, whole groups of eight rows
// and 32 bytes of a row's k.

// ---- The product ----
//
// wgmma_m64n128k16<Format>(d, a, b, accumulate): D = A * B, or D += A * B, by all threads of a warpgroup: A 64 x 16, B
// 16 x 128 in numbers of that format, given by their descriptors, D 64 x 128 in FP32. Products are exact; their sums
// are cut off. With w the warp of the warpgroup, r = lane / 4 and q = lane % 4, a thread holds these elements of D
// ("Register Fragments"):
//   d[4j], d[4j + 1] row 16w + r, columns 8j + 2q and 8j + 2q + 1; d[4j + 2], d[4j + 3] the same of row 16w + r + 8
//
// It starts the product and does not wait for it. The rules:
// wgmma_fence(): has to come before the first product that takes registers which the thread has written or read since.
// wgmma_commit_group(): makes a group of the products started since the last commit.
// wgmma_wait_group<PENDING>(d): waits until at most PENDING of the youngest groups are under way. Only then may the
// thread read `d`, the result of the other groups, and write to the shared memory that they have read.

#ifdef __CUDACC__

__device__ __forceinline__ std::uint64_t wgmma_descriptor(unsigned address) {
  constexpr std::uint64_t UNUSED_STRIDE = 1;
  constexpr std::uint64_t EIGHT_ROWS = WGMMA_ALIGNMENT;
  constexpr std::uint64_t SWIZZLE_128_BYTES = 1;
  return (address & 0x3FFFFU) >> 4U | UNUSED_STRIDE << 16U | EIGHT_ROWS >> 4U << 32U | SWIZZLE_128_BYTES << 62U;
}

__device__ __forceinline__ std::uint64_t wgmma_descriptor_at(std::uint64_t descriptor, unsigned bytes) {
  return descriptor + (bytes >> 4U);
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit_group() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int PENDING>
__device__ __forceinline__ void wgmma_wait_group(float (&d)[64]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
#pragma unroll
  for (float& value : d) {
    asm volatile("" : "+f"(value));  // or the compiler might read it before
  }
}

#define SGEMM_WGMMA(FORMAT)                                                                                         \
  asm volatile(                                                                                                     \
      "{\n .reg .pred add;\n setp.ne.b32 add, %66, 0;\n"                                                            \
      " wgmma.mma_async.sync.aligned.m64n128k16.f32." FORMAT "." FORMAT                                             \
      " {"                                                                                                          \
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                                      \
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "                            \
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "                            \
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "                           \
      "%64, %65, add, 1, 1, 0, 0;\n}"                                                                               \
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), \
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),      \
        "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),     \
        "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]),     \
        "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]),     \
        "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),     \
        "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),     \
        "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])                   \
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)))

template <class Format>
__device__ __forceinline__ void wgmma_m64n128k16(float (&d)[64], std::uint64_t a, std::uint64_t b, bool accumulate);
template <>
__device__ __forceinline__ void wgmma_m64n128k16<Fp16>(float (&d)[64], std::uint64_t a, std::uint64_t b,
                                                       bool accumulate) {
  SGEMM_WGMMA("f16");
}
template <>
__device__ __forceinline__ void wgmma_m64n128k16<Bf16>(float (&d)[64], std::uint64_t a, std::uint64_t b,
                                                       bool accumulate) {
  SGEMM_WGMMA("bf16");
}

#undef SGEMM_WGMMA

#else  // other GPUs have no such instructions: kernels that use them are not launched there

__device__ __forceinline__ void wgmma_fence() { __trap(); }
__device__ __forceinline__ void wgmma_commit_group() { __trap(); }
template <int PENDING>
__device__ __forceinline__ void wgmma_wait_group(float (&)[64]) {
  __trap();
}
template <class Format>
__device__ __forceinline__ void wgmma_m64n128k16(float (&)[64], std::uint64_t, std::uint64_t, bool) {
  __trap();
}

#endif

#else  // the executor's

inline std::uint64_t wgmma_descriptor(unsigned address) { return address; }

inline std::uint64_t wgmma_descriptor_at(std::uint64_t descriptor, unsigned bytes) { return descriptor + bytes; }

inline void wgmma_fence(simt::Site site = simt::Site::current()) { simt::wgmma_fence(site); }
inline void wgmma_commit_group(simt::Site site = simt::Site::current()) { simt::wgmma_commit(site); }
template <int PENDING>
void wgmma_wait_group(float (&d)[64], simt::Site site = simt::Site::current()) {
  simt::wgmma_wait(PENDING, d, site);
}

template <class Format>
void wgmma_m64n128k16(float (&d)[64], std::uint64_t a, std::uint64_t b, bool accumulate,
                      simt::Site site = simt::Site::current()) {
  simt::wgmma(std::is_same_v<Format, Bf16> ? simt::HalfFormat::bf16 : simt::HalfFormat::fp16, d,
              static_cast<unsigned>(a), static_cast<unsigned>(b), accumulate, site);
}

#endif

}  // namespace SGEMM_TARGET
}  // namespace sgemm
