#pragma once

// Products by a whole warpgroup on Hopper's tensor cores (sm_90a alone): asynchronous, both operands in shared memory.
// PTX ISA 9.0, "Asynchronous Warpgroup Level Matrix Instructions: wgmma.mma_async".

#include "common/ceil_div.hpp"
#include "common/target.hpp"

#include <cuda_runtime.h>

#include <cstdint>

namespace sgemm::SGEMM_TARGET {

// The formats of 16 bits, which cvt.cuh converts to.
struct Bf16;
struct Fp16;

// A warpgroup is four neighbouring warps, the first a multiple of four.
constexpr int WARPGROUP = 128;
constexpr int WGMMA_M = 64;
constexpr int WGMMA_K = 16;          // of numbers of 16 bits
constexpr int WGMMA_INTEGER_K = 32;  // of integers of 8 bits

// ---- Operands in shared memory ----
//
// "Strides" and "Swizzling modes" in the same chapter. Each row of A and each column of B has 64 numbers of 16 bits, or
// 128 integers of 8 bits, along k, which are WGMMA_ROW_BYTES, and the rows follow one another. The 16-byte groups of
// each row change places within its 128 bytes, so that eight rows can be read at a time. Hardware finds the groups by
// their address alone, hence the alignment.

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
// wgmma_m64n128k32(d, a, b, accumulate): the same for signed integers of 8 bits, A 64 x 32 and B 32 x 128, and D in
// INT32. Everything is exact as long as no sum leaves the range of 32 bits. wgmma_m64n96k32 has 96 columns of B and D.
//
// All start the product and do not wait for it. The rules:
// wgmma_fence(): has to come before the first product that takes registers of D which the thread has written or read
// since.
// wgmma_commit_group(): makes a group of the products started since the last commit.
// wgmma_wait_group<PENDING>(d): waits until at most PENDING of the youngest groups are under way. Only then may the
// thread read `d`, the result of the other groups or an array of results, and write to the shared memory that they
// have read.

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

/// Keeps the compiler from reading results before the wait for them.
__device__ __forceinline__ void wgmma_has_written(float& value) { asm volatile("" : "+f"(value)); }
__device__ __forceinline__ void wgmma_has_written(int& value) { asm volatile("" : "+r"(value)); }
template <class T, int SIZE>
__device__ __forceinline__ void wgmma_has_written(T (&values)[SIZE]) {
#pragma unroll
  for (T& value : values) {
    wgmma_has_written(value);
  }
}
template <int PENDING, class Results>
__device__ __forceinline__ void wgmma_wait_group(Results& d) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
  wgmma_has_written(d);
}

// What all of them have in common, with the places of the operands in the text. Registers of D come first.
#define SGEMM_WGMMA_16(REGISTER, I)                                                                                 \
  REGISTER(d[(I) + 0]), REGISTER(d[(I) + 1]), REGISTER(d[(I) + 2]), REGISTER(d[(I) + 3]), REGISTER(d[(I) + 4]),     \
      REGISTER(d[(I) + 5]), REGISTER(d[(I) + 6]), REGISTER(d[(I) + 7]), REGISTER(d[(I) + 8]), REGISTER(d[(I) + 9]), \
      REGISTER(d[(I) + 10]), REGISTER(d[(I) + 11]), REGISTER(d[(I) + 12]), REGISTER(d[(I) + 13]),                   \
      REGISTER(d[(I) + 14]), REGISTER(d[(I) + 15])
#define SGEMM_WGMMA(SHAPE_AND_TYPES, REGISTER, MODIFIERS)                                                      \
  asm volatile(                                                                                                \
      "{\n .reg .pred add;\n setp.ne.b32 add, %66, 0;\n wgmma.mma_async.sync.aligned." SHAPE_AND_TYPES         \
      " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
      "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, "   \
      "%42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, "   \
      "%62, %63}, %64, %65, add" MODIFIERS ";\n}"                                                              \
      : SGEMM_WGMMA_16(REGISTER, 0), SGEMM_WGMMA_16(REGISTER, 16), SGEMM_WGMMA_16(REGISTER, 32),               \
        SGEMM_WGMMA_16(REGISTER, 48)                                                                           \
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)))

template <class Format>
__device__ __forceinline__ void wgmma_m64n128k16(float (&d)[64], std::uint64_t a, std::uint64_t b, bool accumulate);
template <>
__device__ __forceinline__ void wgmma_m64n128k16<Fp16>(float (&d)[64], std::uint64_t a, std::uint64_t b,
                                                       bool accumulate) {
  SGEMM_WGMMA("m64n128k16.f32.f16.f16", "+f", ", 1, 1, 0, 0");
}
template <>
__device__ __forceinline__ void wgmma_m64n128k16<Bf16>(float (&d)[64], std::uint64_t a, std::uint64_t b,
                                                       bool accumulate) {
  SGEMM_WGMMA("m64n128k16.f32.bf16.bf16", "+f", ", 1, 1, 0, 0");
}
__device__ __forceinline__ void wgmma_m64n128k32(int (&d)[64], std::uint64_t a, std::uint64_t b, bool accumulate) {
  SGEMM_WGMMA("m64n128k32.s32.s8.s8", "+r", "");
}
__device__ __forceinline__ void wgmma_m64n96k32(int (&d)[48], std::uint64_t a, std::uint64_t b, bool accumulate) {
  asm volatile(
      "{\n .reg .pred add;\n setp.ne.b32 add, %50, 0;\n wgmma.mma_async.sync.aligned.m64n96k32.s32.s8.s8"
      " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, "
      "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, "
      "%42, %43, %44, %45, %46, %47}, %48, %49, add;\n}"
      : SGEMM_WGMMA_16("+r", 0), SGEMM_WGMMA_16("+r", 16), SGEMM_WGMMA_16("+r", 32)
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}

#undef SGEMM_WGMMA
#undef SGEMM_WGMMA_16

#else  // other GPUs have no such instructions: kernels that use them are not launched there

__device__ __forceinline__ void wgmma_fence() { __trap(); }
__device__ __forceinline__ void wgmma_commit_group() { __trap(); }
template <int PENDING, class Results>
__device__ __forceinline__ void wgmma_wait_group(Results&) {
  __trap();
}
template <class Format>
__device__ __forceinline__ void wgmma_m64n128k16(float (&)[64], std::uint64_t, std::uint64_t, bool) {
  __trap();
}
__device__ __forceinline__ void wgmma_m64n128k32(int (&)[64], std::uint64_t, std::uint64_t, bool) { __trap(); }
__device__ __forceinline__ void wgmma_m64n96k32(int (&)[48], std::uint64_t, std::uint64_t, bool) { __trap(); }

#endif

#endif

}  // namespace sgemm::SGEMM_TARGET
