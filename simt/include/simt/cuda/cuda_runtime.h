#pragma once

// Stands in for CUDA's header of the same name when the host's compiler compiles a kernel for the executor: the
// language extensions, the built-in variables and functions that kernels use, and launching. Features of CUDA that are
// missing here do not compile. Features that compile but can not be executed call simt::not_supported().

#include <simt/thread.hpp>

#include <cuda_runtime_api.h>

#include <bit>
#include <chrono>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

// ---- Language extensions ----

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
/// All fibers of a block run on one OS thread, which runs one block at a time.
#define __shared__ static thread_local

struct uint3 {
  unsigned x;
  unsigned y;
  unsigned z;
};

struct dim3 {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;

  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

struct alignas(8) float2 {
  float x;
  float y;
};

struct alignas(16) float4 {
  float x;
  float y;
  float z;
  float w;
};

struct alignas(16) uint4 {
  unsigned x;
  unsigned y;
  unsigned z;
  unsigned w;
};

inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

/// Set whenever a thread gets its turn.
inline thread_local uint3 threadIdx{};
inline thread_local uint3 blockIdx{};
inline thread_local dim3 blockDim{};
inline thread_local dim3 gridDim{};
constexpr int warpSize = simt::WARP;

// ---- Functions of a thread ----

inline void __syncthreads(simt::Site site = simt::Site::current()) { simt::block_barrier(site); }
inline void __syncwarp(unsigned mask = 0xFFFFFFFFU, simt::Site site = simt::Site::current()) {
  simt::warp_barrier(mask, site);
}

namespace simt {

/// The value that lane `source` passes; `width` splits the warp into groups that keep to themselves, as in CUDA.
template <class T>
T shuffle(unsigned mask, T value, unsigned source, Site site) {
  static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<T>(static_cast<Bits>(exchange(mask, std::bit_cast<Bits>(value), source, site)));
}

}  // namespace simt

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize, simt::Site site = simt::Site::current()) {
  const unsigned lane = simt::lane();
  const unsigned group = lane / width * width;
  return simt::shuffle(mask, value, group + static_cast<unsigned>(source) % width, site);
}

template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize,
                 simt::Site site = simt::Site::current()) {
  const unsigned lane = simt::lane();
  return simt::shuffle(mask, value, lane % width < delta ? lane : lane - delta, site);
}

template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize,
                   simt::Site site = simt::Site::current()) {
  const unsigned lane = simt::lane();
  return simt::shuffle(mask, value, lane % width + delta < static_cast<unsigned>(width) ? lane + delta : lane, site);
}

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = warpSize, simt::Site site = simt::Site::current()) {
  const unsigned lane = simt::lane();
  const unsigned source = lane ^ static_cast<unsigned>(lanes);
  return simt::shuffle(mask, value, source / width > lane / width ? lane : source, site);
}

/// Hints about caches change no result.
template <class T>
void __stwt(T* destination, T value) {
  *destination = value;
}
template <class T>
void __stcg(T* destination, T value) {
  *destination = value;
}
template <class T>
T __ldg(const T* source) {
  return *source;
}
template <class T>
T __ldcg(const T* source) {
  return *source;
}

inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }

/// A clock that goes on while other threads of the block run.
inline long long clock64() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
inline void __nanosleep(unsigned) { simt::give_way(); }

// ---- Launching ----

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };

/// Only cudaFuncAttributeMaxDynamicSharedMemorySize, which asks for no consent beyond the device's limit here.
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value);

/// The executor has neither registers nor multiprocessors: these return cudaErrorNotSupported.
struct cudaFuncAttributes {
  std::size_t sharedSizeBytes = 0;
  std::size_t localSizeBytes = 0;
  int numRegs = 0;
};
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int threads,
                                                          std::size_t dynamic_smem);

struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
};

namespace simt {

cudaError_t check(const cudaLaunchConfig_t& config);

template <class... Parameters>
struct Call {
  void (*kernel)(Parameters...);
  std::tuple<Parameters...> arguments;

  static void run(const void* call) {
    std::apply(static_cast<const Call*>(call)->kernel, static_cast<const Call*>(call)->arguments);
  }
};

}  // namespace simt

/// Returns when the grid has been executed. Throws what simt::run() throws: the executor's errors say more than codes.
template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  if (const cudaError_t error = simt::check(*config); error != cudaSuccess) {
    return error;
  }
  const simt::Call<Parameters...> call{kernel, {std::forward<Arguments>(arguments)...}};
  simt::run({{config->gridDim.x, config->gridDim.y, config->gridDim.z},
             {config->blockDim.x, config->blockDim.y, config->blockDim.z},
             config->dynamicSmemBytes,
             simt::Call<Parameters...>::run,
             &call,
             sizeof call});
  return cudaSuccess;
}
