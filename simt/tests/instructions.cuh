#pragma once

// PTX's instructions by their names, as a project has them whose kernels run on GPUs as well: there the functions hold
// inline assembly, here they call the executor.

#include "launch.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace simt::test {
inline namespace SIMT_TEST_BUILD {

// ---- Shared memory, vectors ----

inline float* dynamic_smem() { return static_cast<float*>(dynamic_shared_memory()); }
inline float4 load_float4(const float* source) { return *reinterpret_cast<const float4*>(source); }
inline void store_float4(float* destination, float4 value) { *reinterpret_cast<float4*>(destination) = value; }

// ---- Barriers ----

inline void bar_sync(int id, int threads, Site site = Site::current()) {
  barrier(static_cast<unsigned>(id), static_cast<unsigned>(threads), site);
}
inline void bar_arrive(int id, int threads, Site site = Site::current()) {
  barrier_arrive(static_cast<unsigned>(id), static_cast<unsigned>(threads), site);
}

// ---- Copies ----

template <int BYTES>
void cp_async(unsigned destination, const void* source, Site site = Site::current()) {
  copy_async(destination, source, BYTES, site);
}
template <int BYTES>
void cp_async_zfill(unsigned destination, const void* source, bool valid, Site site = Site::current()) {
  copy_async(destination, valid ? source : nullptr, BYTES, site);
}
inline void cp_async_commit_group() { commit_copies(); }
template <int PENDING>
void cp_async_wait_group() {
  wait_for_copies(PENDING);
}
inline void cp_async_bulk(unsigned destination, const void* source, unsigned bytes, unsigned barrier,
                          Site site = Site::current()) {
  bulk_copy(destination, source, bytes, barrier, site);
}

// ---- Mbarriers ----

constexpr int MBARRIER_BYTES = 8;

inline void mbarrier_init(unsigned barrier, unsigned arrivals, Site site = Site::current()) {
  simt::mbarrier_init(barrier, arrivals, site);
}
inline void mbarrier_arrive(unsigned barrier, Site site = Site::current()) { simt::mbarrier_arrive(barrier, site); }
inline void mbarrier_arrive_expect_tx(unsigned barrier, unsigned bytes, Site site = Site::current()) {
  mbarrier_arrive_expecting(barrier, bytes, site);
}
inline void cp_async_mbarrier_arrive_noinc(unsigned barrier, Site site = Site::current()) {
  mbarrier_arrive_after_copies(barrier, site);
}
inline void mbarrier_wait(unsigned barrier, unsigned parity, Site site = Site::current()) {
  simt::mbarrier_wait(barrier, parity, site);
}

// ---- Tensor cores ----

inline void mma_m16n8k8_tf32(float (&d)[4], const float (&a)[4], const float (&b)[2], const float (&c)[4],
                             Site site = Site::current()) {
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  const std::array<float, 4> sums =
      mma(MmaFormat::tf32, 8, {{bits(a[0]), bits(a[1]), bits(a[2]), bits(a[3])}, {bits(b[0]), bits(b[1])}},
          {c[0], c[1], c[2], c[3]}, site);
  std::copy(sums.begin(), sums.end(), d);
}

constexpr int WARPGROUP = 128;
constexpr int WGMMA_K = 16;          // of numbers of 16 bits
constexpr int WGMMA_INTEGER_K = 32;  // of integers of 8 bits
constexpr int WGMMA_ROW_BYTES = 128;
constexpr int WGMMA_ALIGNMENT = 8 * WGMMA_ROW_BYTES;

/// The place of byte `offset` of a tile after swizzling.
constexpr unsigned swizzled(unsigned offset) { return offset ^ (offset >> 3U & 0x70U); }

/// Formats of 16 bits, two numbers to a register.
struct Fp16 {
  static constexpr HalfFormat FORMAT = HalfFormat::fp16;
  static unsigned pack(float low, float high) { return to_fp16(low) | static_cast<unsigned>(to_fp16(high)) << 16U; }
};
struct Bf16 {
  static constexpr HalfFormat FORMAT = HalfFormat::bf16;
  static unsigned pack(float low, float high) { return to_bf16(low) | static_cast<unsigned>(to_bf16(high)) << 16U; }
};

inline void wgmma_fence(Site site = Site::current()) { simt::wgmma_fence(site); }
inline void wgmma_commit_group(Site site = Site::current()) { wgmma_commit(site); }
template <int PENDING, class T, int SIZE>
void wgmma_wait_group(T (&d)[SIZE], Site site = Site::current()) {
  if constexpr (std::is_array_v<T>) {
    for (T& result : d) {
      wgmma_wait(PENDING, result, site);
    }
  } else {
    wgmma_wait(PENDING, d, site);
  }
}
template <class Format>
void wgmma_m64n128k16(float (&d)[64], unsigned a, unsigned b, bool accumulate, Site site = Site::current()) {
  wgmma(Format::FORMAT, d, a, b, accumulate, site);
}
inline void wgmma_m64n128k32(int (&d)[64], unsigned a, unsigned b, bool accumulate, Site site = Site::current()) {
  wgmma(d, 128, a, b, accumulate, site);
}
template <class Format, int RESULTS>
void wgmma_m64k16(float (&d)[RESULTS], const unsigned (&a)[4], unsigned b, bool accumulate,
                  Site site = Site::current()) {
  wgmma(Format::FORMAT, d, 2 * RESULTS, a, b, accumulate, site);
}

}  // namespace SIMT_TEST_BUILD
}  // namespace simt::test
