#pragma once

// What the instructions of kernels/ptx/ do on the executor. The headers there tell what they promise.

#include "common/target.hpp"

#include <cuda_runtime.h>
#include <simt/ptx_instructions.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace sgemm::SGEMM_TARGET {

// Those that the executor names alike.
using simt::cluster_rank;
using simt::mbarrier_arrive;
using simt::mbarrier_init;
using simt::mbarrier_wait;
using simt::raise_flag;
using simt::shared_address;
using simt::wait_for_flag;
using simt::wgmma_fence;

inline float* dynamic_smem() { return static_cast<float*>(simt::dynamic_shared_memory()); }

inline const void* from_shared_address(unsigned address) {
  return static_cast<const unsigned char*>(simt::dynamic_shared_memory()) + static_cast<int>(address);
}

__device__ __forceinline__ float4 ld_shared_v4_f32(unsigned address) {
  return *static_cast<const float4*>(from_shared_address(address));
}

template <int BYTES, int OFFSET = 0>
void cp_async(unsigned destination, const void* source, simt::Site site = simt::Site::current()) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16);
  simt::copy_async(destination + OFFSET, static_cast<const unsigned char*>(source) + OFFSET, BYTES, site);
}

template <int BYTES>
void cp_async_zfill(unsigned destination, const void* source, bool valid, simt::Site site = simt::Site::current()) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16);
  simt::copy_async(destination, valid ? source : nullptr, BYTES, site);
}

inline void cp_async_commit_group() { simt::commit_copies(); }

template <int PENDING>
void cp_async_wait_group() {
  simt::wait_for_copies(PENDING);
}

inline void cp_async_bulk(unsigned destination, const void* source, unsigned bytes, unsigned barrier,
                          simt::Site site = simt::Site::current()) {
  simt::bulk_copy(destination, source, bytes, barrier, site);
}

inline void cp_async_bulk_multicast(unsigned destination, const void* source, unsigned bytes, unsigned barrier,
                                    unsigned /*ranks*/, simt::Site site = simt::Site::current()) {
  simt::bulk_copy(destination, source, bytes, barrier, site);
}

inline void cluster_sync(simt::Site site = simt::Site::current()) { simt::cluster_barrier(site); }

inline void mbarrier_arrive_at(unsigned barrier, unsigned /*rank*/, simt::Site site = simt::Site::current()) {
  simt::mbarrier_arrive(barrier, site);
}

inline void mbarrier_arrive_expect_tx(unsigned barrier, unsigned bytes, simt::Site site = simt::Site::current()) {
  simt::mbarrier_arrive_expecting(barrier, bytes, site);
}

inline void fence_mbarrier_init() {}
inline void fence_proxy_async() {}

inline void cp_async_mbarrier_arrive_noinc(unsigned barrier, simt::Site site = simt::Site::current()) {
  simt::mbarrier_arrive_after_copies(barrier, site);
}

inline void bar_sync(int id, int threads, simt::Site site = simt::Site::current()) {
  simt::barrier(static_cast<unsigned>(id), static_cast<unsigned>(threads), site);
}

inline unsigned cvt_rn_f16x2_f32(float high, float low) {
  return simt::to_fp16(low) | static_cast<unsigned>(simt::to_fp16(high)) << 16U;
}

inline unsigned cvt_rn_bf16x2_f32(float high, float low) {
  return simt::to_bf16(low) | static_cast<unsigned>(simt::to_bf16(high)) << 16U;
}

inline float2 cvt_f32_f16x2(unsigned pair) { return {simt::from_fp16(pair & 0xFFFFU), simt::from_fp16(pair >> 16U)}; }

inline void ldmatrix_x4(unsigned (&to)[4], unsigned row, simt::Site site = simt::Site::current()) {
  std::ranges::copy(simt::ptx::ldmatrix<4>(row, false, site), to);
}

inline void mma_m16n8k8_tf32(float (&d)[4], const float (&a)[4], const float (&b)[2], const float (&c)[4],
                             simt::Site site = simt::Site::current()) {
  const auto bits = __float_as_uint;
  const simt::MmaRegisters factors{{bits(a[0]), bits(a[1]), bits(a[2]), bits(a[3])}, {bits(b[0]), bits(b[1])}};
  std::ranges::copy(simt::mma(simt::MmaFormat::tf32, {16, 8, 8}, factors, std::array{c[0], c[1], c[2], c[3]}, site), d);
}

inline void mma_m16n8k16_fp16(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, const float (&c)[4],
                              simt::Site site = simt::Site::current()) {
  const simt::MmaRegisters factors{{a[0], a[1], a[2], a[3]}, {b0, b1}};
  std::ranges::copy(simt::mma(simt::MmaFormat::fp16, {16, 8, 16}, factors, std::array{c[0], c[1], c[2], c[3]}, site),
                    d);
}

inline void mma_m16n8k32_s8(int* d, const unsigned (&a)[4], unsigned b0, unsigned b1,
                            simt::Site site = simt::Site::current()) {
  const simt::MmaRegisters factors{{a[0], a[1], a[2], a[3]}, {b0, b1}};
  std::ranges::copy(simt::mma(simt::MmaFormat::s8, {16, 8, 32}, factors, std::array{d[0], d[1], d[2], d[3]}, site), d);
}

struct Bf16;
struct Fp16;

inline std::uint64_t wgmma_descriptor(unsigned address) { return address; }

inline std::uint64_t wgmma_descriptor_at(std::uint64_t descriptor, unsigned bytes) { return descriptor + bytes; }

inline void wgmma_commit_group(simt::Site site = simt::Site::current()) { simt::wgmma_commit(site); }
template <int PENDING, class T, int SIZE>
void wgmma_wait_group(T (&d)[SIZE], simt::Site site = simt::Site::current()) {
  if constexpr (std::is_array_v<T>) {
    for (T& result : d) {
      simt::wgmma_wait(PENDING, result, site);
    }
  } else {
    simt::wgmma_wait(PENDING, d, site);
  }
}

template <class Format>
void wgmma_m64n128k16(float (&d)[64], std::uint64_t a, std::uint64_t b, bool accumulate,
                      simt::Site site = simt::Site::current()) {
  constexpr auto FORMAT = std::is_same_v<Format, Bf16> ? simt::MmaFormat::bf16 : simt::MmaFormat::fp16;
  simt::wgmma(FORMAT, d, 128, static_cast<unsigned>(a), static_cast<unsigned>(b), accumulate, site);
}
inline void wgmma_m64n128k32(int (&d)[64], std::uint64_t a, std::uint64_t b, bool accumulate,
                             simt::Site site = simt::Site::current()) {
  simt::wgmma(simt::MmaFormat::s8, d, 128, static_cast<unsigned>(a), static_cast<unsigned>(b), accumulate, site);
}
inline void wgmma_m64n96k32(int (&d)[48], std::uint64_t a, std::uint64_t b, bool accumulate,
                            simt::Site site = simt::Site::current()) {
  simt::wgmma(simt::MmaFormat::s8, d, 96, static_cast<unsigned>(a), static_cast<unsigned>(b), accumulate, site);
}

inline void griddepcontrol_launch_dependents() {}
inline void griddepcontrol_wait() {}

}  // namespace sgemm::SGEMM_TARGET
