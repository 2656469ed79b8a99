#pragma once

// Products by a whole warpgroup on Hopper's tensor cores (sm_90a alone): asynchronous, B in shared memory, and A there
// or in registers. PTX ISA 9.0, "Asynchronous Warpgroup Level Matrix Instructions: wgmma.mma_async".

#include "common/ceil_div.hpp"
#include "common/target.hpp"

#include <cuda_runtime.h>
#ifndef __CUDACC__
#include "executor/ptx.hpp"
#endif

#include <cstdint>
#include <type_traits>

namespace sgemm {
inline namespace SGEMM_TARGET {

// The formats of 16 bits, which cvt.cuh converts to.
struct Bf16;
struct Fp16;

// A warpgroup is four neighbouring warps, the first a multiple of four.
constexpr int WARPGROUP = 128;
constexpr int WGMMA_M = 64;
constexpr int WGMMA_N = 128;         // or less with A in registers
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
// INT32. Everything is exact as long as no sum leaves the range of 32 bits.
//
// wgmma_m64k16<Format>(d, a, b, accumulate): the first product with A in registers, of twice as many columns as a
// thread has results, 16, 32 or 64: the first 32, 64 or 128 columns of B. A thread holds these elements of A, two of
// neighbouring k to a register and the lower k in the lower half:
//   a[0] row 16w + r, k = 2q and 2q + 1; a[1] the same k of row 16w + r + 8; a[2], a[3] as a[0], a[1] with k 8 higher
// That is A of mma.sync.m16n8k16, in each warp its own 16 rows. The product reads these registers while it is under
// way: nothing may change them until it has been waited for.
//
// All of them start the product and do not wait for it. The rules:
// wgmma_fence(): has to come before the first product that takes registers which the thread has written or read since,
// of D or of A.
// wgmma_commit_group(): makes a group of the products started since the last commit.
// wgmma_wait_group<PENDING>(d): waits until at most PENDING of the youngest groups are under way. Only then may the
// thread read `d`, the result of the other groups or an array of results, and write to the shared memory and to the
// registers of A that they have read.

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
#define SGEMM_WGMMA(SHAPE_AND_TYPES, D, A_AND_B, ACCUMULATE, MODIFIERS, RESULTS, ...)                         \
  asm volatile("{\n .reg .pred add;\n setp.ne.b32 add, " ACCUMULATE                                           \
               ", 0;\n"                                                                                       \
               " wgmma.mma_async.sync.aligned." SHAPE_AND_TYPES " {" D "}, " A_AND_B ", add" MODIFIERS ";\n}" \
               : RESULTS                                                                                      \
               : __VA_ARGS__, "r"(static_cast<int>(accumulate)))
// Texts and registers of D, sixteen by sixteen.
#define SGEMM_WGMMA_D_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define SGEMM_WGMMA_D_32 \
  SGEMM_WGMMA_D_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define SGEMM_WGMMA_D_48 \
  SGEMM_WGMMA_D_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define SGEMM_WGMMA_D_64 \
  SGEMM_WGMMA_D_48 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define SGEMM_WGMMA_REGISTERS_OF_D(REGISTER, I)                                                                     \
  REGISTER(d[(I) + 0]), REGISTER(d[(I) + 1]), REGISTER(d[(I) + 2]), REGISTER(d[(I) + 3]), REGISTER(d[(I) + 4]),     \
      REGISTER(d[(I) + 5]), REGISTER(d[(I) + 6]), REGISTER(d[(I) + 7]), REGISTER(d[(I) + 8]), REGISTER(d[(I) + 9]), \
      REGISTER(d[(I) + 10]), REGISTER(d[(I) + 11]), REGISTER(d[(I) + 12]), REGISTER(d[(I) + 13]),                   \
      REGISTER(d[(I) + 14]), REGISTER(d[(I) + 15])
#define SGEMM_WGMMA_RESULTS_16(REGISTER) SGEMM_WGMMA_REGISTERS_OF_D(REGISTER, 0)
#define SGEMM_WGMMA_RESULTS_32(REGISTER) SGEMM_WGMMA_RESULTS_16(REGISTER), SGEMM_WGMMA_REGISTERS_OF_D(REGISTER, 16)
#define SGEMM_WGMMA_RESULTS_48(REGISTER) SGEMM_WGMMA_RESULTS_32(REGISTER), SGEMM_WGMMA_REGISTERS_OF_D(REGISTER, 32)
#define SGEMM_WGMMA_RESULTS_64(REGISTER) SGEMM_WGMMA_RESULTS_48(REGISTER), SGEMM_WGMMA_REGISTERS_OF_D(REGISTER, 48)
// With both operands in shared memory, and with A in registers.
#define SGEMM_WGMMA_SHARED(SHAPE_AND_TYPES, REGISTER, MODIFIERS)                                                 \
  SGEMM_WGMMA(SHAPE_AND_TYPES, SGEMM_WGMMA_D_64, "%64, %65", "%66", MODIFIERS, SGEMM_WGMMA_RESULTS_64(REGISTER), \
              "l"(a), "l"(b))
#define SGEMM_WGMMA_A "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])
#define SGEMM_WGMMA_REGISTERS(COLUMNS, RESULTS, A_AND_B, ACCUMULATE)                                            \
  if constexpr (std::is_same_v<Format, Fp16>) {                                                                 \
    SGEMM_WGMMA("m64n" #COLUMNS "k16.f32.f16.f16", SGEMM_WGMMA_D_##RESULTS, A_AND_B, ACCUMULATE, ", 1, 1, 0",   \
                SGEMM_WGMMA_RESULTS_##RESULTS("+f"), SGEMM_WGMMA_A, "l"(b));                                    \
  } else {                                                                                                      \
    SGEMM_WGMMA("m64n" #COLUMNS "k16.f32.bf16.bf16", SGEMM_WGMMA_D_##RESULTS, A_AND_B, ACCUMULATE, ", 1, 1, 0", \
                SGEMM_WGMMA_RESULTS_##RESULTS("+f"), SGEMM_WGMMA_A, "l"(b));                                    \
  }

template <class Format>
__device__ __forceinline__ void wgmma_m64n128k16(float (&d)[64], std::uint64_t a, std::uint64_t b, bool accumulate);
template <>
__device__ __forceinline__ void wgmma_m64n128k16<Fp16>(float (&d)[64], std::uint64_t a, std::uint64_t b,
                                                       bool accumulate) {
  SGEMM_WGMMA_SHARED("m64n128k16.f32.f16.f16", "+f", ", 1, 1, 0, 0");
}
template <>
__device__ __forceinline__ void wgmma_m64n128k16<Bf16>(float (&d)[64], std::uint64_t a, std::uint64_t b,
                                                       bool accumulate) {
  SGEMM_WGMMA_SHARED("m64n128k16.f32.bf16.bf16", "+f", ", 1, 1, 0, 0");
}
__device__ __forceinline__ void wgmma_m64n128k32(int (&d)[64], std::uint64_t a, std::uint64_t b, bool accumulate) {
  SGEMM_WGMMA_SHARED("m64n128k32.s32.s8.s8", "+r", "");
}
template <class Format, int RESULTS>
__device__ __forceinline__ void wgmma_m64k16(float (&d)[RESULTS], const unsigned (&a)[4], std::uint64_t b,
                                             bool accumulate) {
  static_assert(std::is_same_v<Format, Bf16> || std::is_same_v<Format, Fp16>);
  static_assert(RESULTS == 16 || RESULTS == 32 || RESULTS == 64);
  if constexpr (RESULTS == 16) {
    SGEMM_WGMMA_REGISTERS(32, 16, "{%16, %17, %18, %19}, %20", "%21");
  } else if constexpr (RESULTS == 32) {
    SGEMM_WGMMA_REGISTERS(64, 32, "{%32, %33, %34, %35}, %36", "%37");
  } else {
    SGEMM_WGMMA_REGISTERS(128, 64, "{%64, %65, %66, %67}, %68", "%69");
  }
}

#undef SGEMM_WGMMA_REGISTERS
#undef SGEMM_WGMMA_A
#undef SGEMM_WGMMA_SHARED
#undef SGEMM_WGMMA_RESULTS_64
#undef SGEMM_WGMMA_RESULTS_48
#undef SGEMM_WGMMA_RESULTS_32
#undef SGEMM_WGMMA_RESULTS_16
#undef SGEMM_WGMMA_REGISTERS_OF_D
#undef SGEMM_WGMMA_D_64
#undef SGEMM_WGMMA_D_48
#undef SGEMM_WGMMA_D_32
#undef SGEMM_WGMMA_D_16
#undef SGEMM_WGMMA

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
template <class Format, int RESULTS>
__device__ __forceinline__ void wgmma_m64k16(float (&)[RESULTS], const unsigned (&)[4], std::uint64_t, bool) {
  __trap();
}

#endif

#endif

}  // namespace SGEMM_TARGET
}  // namespace sgemm
