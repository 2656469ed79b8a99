#pragma once

// Stands in for CUDA's header of the same name when the host's compiler compiles a kernel for the executor: the
// language extensions, the built-in variables and functions that kernels use, and launching. Features of CUDA that are
// missing here do not compile. Features that compile but can not be executed call simt::not_supported().

#include <simt/thread.hpp>

#include <cuda_runtime_api.h>
#include <vector_types.h>

#include <bit>
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
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
/// Variables are the host's. Translations of plain CUDA (simt/plain_cuda.hpp) tell the checks of them.
#define __constant__
#define __managed__
/// The fibers of a block run on one OS thread, and one block at a time does.
#define __shared__ static thread_local

/// Set whenever a thread gets its turn.
extern constinit thread_local uint3 threadIdx;
extern constinit thread_local uint3 blockIdx;
extern constinit thread_local dim3 blockDim;
extern constinit thread_local dim3 gridDim;
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
  static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8));
  using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  using Bits = std::conditional_t<sizeof(T) == 2, std::uint16_t, Word>;
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

#include <simt/device_functions.hpp>

// ---- Launching ----

enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9,
  cudaFuncAttributeNonPortableClusterSizeAllowed = 13,
};

enum cudaFuncCache {
  cudaFuncCachePreferNone,
  cudaFuncCachePreferShared,
  cudaFuncCachePreferL1,
  cudaFuncCachePreferEqual
};
constexpr int cudaSharedmemCarveoutMaxShared = 100;

namespace simt {
/// A kernel of whatever parameters.
struct AnyKernel {
  AnyKernel(const void*) {}
  template <class... Parameters>
  AnyKernel(void (*)(Parameters...)) {}
};
}  // namespace simt

/// cudaFuncAttributeMaxDynamicSharedMemorySize alone changes something: the largest value that any kernel asked for is
/// the limit of all that plain CUDA launches.
cudaError_t cudaFuncSetAttribute(simt::AnyKernel kernel, cudaFuncAttribute attribute, int value);
template <class Kernel>
cudaError_t cudaFuncSetCacheConfig(Kernel*, cudaFuncCache) {
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
#define __builtin_assume(condition) static_cast<void>(0)

/// The executor has no registers: this returns cudaErrorNotSupported. A block is taken to fill a multiprocessor.
struct cudaFuncAttributes {
  std::size_t sharedSizeBytes = 0;
  std::size_t localSizeBytes = 0;
  int numRegs = 0;
  int ptxVersion = 0;
  int maxThreadsPerBlock = 1024;
};
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, simt::AnyKernel kernel);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, simt::AnyKernel kernel, int threads,
                                                          std::size_t dynamic_smem);
inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int* blocks, int* threads, simt::AnyKernel kernel,
                                                      std::size_t dynamic_smem = 0, int most_threads = 0) {
  cudaDeviceProp device;
  cudaGetDeviceProperties(&device, 0);
  *threads = most_threads > 0 ? most_threads : device.maxThreadsPerBlock;
  const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, *threads, dynamic_smem);
  *blocks *= device.multiProcessorCount;
  return error;
}

enum cudaLaunchAttributeID {
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6,  ///< which changes nothing: launches come one by one
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id = cudaLaunchAttributeClusterDimension;
  struct {
    dim3 clusterDim;
    int cooperative;
    int programmaticStreamSerializationAllowed;
  } val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
  cudaLaunchAttribute* attrs = nullptr;
  unsigned numAttrs = 0;
};

/// Takes a block to fill a multiprocessor, and clusters to lie anywhere.
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* kernel, const cudaLaunchConfig_t* config);

namespace simt {

cudaError_t check(const cudaLaunchConfig_t& config);
/// Without what its threads do.
Launch launch_of(const cudaLaunchConfig_t& config);

template <class... Parameters>
struct Call {
  void (*kernel)(Parameters...);
  std::tuple<Parameters...> arguments;

  static void run(const void* call) {
    std::apply(static_cast<const Call*>(call)->kernel, static_cast<const Call*>(call)->arguments);
  }
};

/// Returns when the grid has been executed. Throws what run() throws: the executor's errors say more than codes.
template <class Call>
cudaError_t launch(const cudaLaunchConfig_t& config, const Call& call) {
  if (const cudaError_t error = check(config); error != cudaSuccess) {
    return error;
  }
  Launch launch = launch_of(config);
  launch.thread = Call::run;
  launch.kernel = &call;
  launch.kernel_bytes = sizeof call;
  run(launch);
  return cudaSuccess;
}

template <class... Parameters, std::size_t... INDEX>
Call<Parameters...> call_of(void (*kernel)(Parameters...), void** arguments, std::index_sequence<INDEX...>) {
  return {kernel, {*static_cast<std::remove_reference_t<Parameters>*>(arguments[INDEX])...}};
}

}  // namespace simt

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  return simt::launch(*config, simt::Call<Parameters...>{kernel, {std::forward<Arguments>(arguments)...}});
}

/// The kernel's type tells what `arguments` point to. Translations take casts to void* away.
template <class... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                             std::size_t dynamic_smem = 0, cudaStream_t stream = nullptr) {
  return simt::launch({grid, block, dynamic_smem, stream, nullptr, 0},
                      simt::call_of(kernel, arguments, std::index_sequence_for<Parameters...>()));
}
template <class... Parameters>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                                        std::size_t dynamic_smem = 0, cudaStream_t stream = nullptr) {
  cudaLaunchAttribute cooperative;
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  return simt::launch({grid, block, dynamic_smem, stream, &cooperative, 1},
                      simt::call_of(kernel, arguments, std::index_sequence_for<Parameters...>()));
}
inline cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, std::size_t = 0, cudaStream_t = nullptr) {
  simt::not_supported("a launch by a pointer without the kernel's type");
}
inline cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                               std::size_t = 0, cudaStream_t = nullptr) {
  return cudaLaunchKernel(kernel, grid, block, arguments);
}
