#pragma once

// What translations of plain CUDA (plain_cuda.hpp) begin with: what nvcc declares for every file, and what the
// translator's launches, shared variables and inline assembly call.

// Files have a lerp() of their own, and nvcc's C++17 has none in std or beside it.
#define lerp lerp_of_cmath

#include <simt/memory_functions.hpp>

#include <simt/device_memory.hpp>
#include <simt/executor.hpp>
#include <simt/ptx_instructions.hpp>
#include <simt/thread.hpp>

#include <cuda_runtime.h>

#include <array>
#include <string>
#include <type_traits>
#include <utility>

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#undef lerp

// The one compilation stands for nvcc's two, and decides what belongs to the device: host code is compiled as if it
// did.
#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 8
#define __CUDA_ARCH__ 900
#define __CUDA_ARCH_FEAT_SM90_ALL 1
#define CUDART_VERSION 12080
#define __declspec(attribute)  // of Windows

// The translator reads CUDA's own words behind the preprocessor. They are macros, as nvcc has them, which files ask
// for.
#undef __global__
#define __global__ __global__
#undef __device__
#define __device__ __device__
#undef __host__
#define __host__ __host__
#undef __forceinline__
#define __forceinline__ __forceinline__
#undef __launch_bounds__
#define __launch_bounds__ __launch_bounds__
#undef __grid_constant__
#define __grid_constant__ __grid_constant__
#undef __align__
#define __align__ __align__
#undef __constant__
#define __constant__ __constant__
#undef __managed__
#define __managed__ __managed__
#undef __shared__
#define __shared__ __shared__

namespace simt {

/// What stands between <<< and >>>.
struct Configuration {
  Configuration(dim3 grid, dim3 block, std::size_t dynamic_smem = 0, cudaStream_t stream = nullptr,
                Site site = Site::current())
      : launch{grid, block, dynamic_smem, stream}, site(site) {}

  cudaLaunchConfig_t launch;
  Site site;
};

/// Throws Error where no device would take the launch, with the number and the limit.
void check_launch(const cudaLaunchConfig_t& launch, Site site);

/// What is passed to a kernel, byte by byte: host objects that convert to what it takes are not to be copied.
template <class T>
struct Argument {
  Argument(const T& value) { std::memcpy(bytes, &value, sizeof bytes); }
  alignas(T) mutable std::byte bytes[sizeof(T)];
};

/// Values in braces, of which a kernel's parameter is made.
template <class... Values>
struct Braces {
  Braces(const Values&... given) : values(given...) {}
  template <class T>
  operator T() const {
    return std::make_from_tuple<T>(values);
  }
  std::tuple<Values...> values;
};

/// An array is passed by its address, and a volatile number by its value. A reference to something constant takes
/// bit-fields as well.
template <class T>
decltype(auto) as_passed(const T& value) {
  if constexpr (std::is_array_v<T>) {
    return const_cast<std::remove_extent_t<T>*>(&value[0]);
  } else if constexpr (std::is_volatile_v<T>) {
    return std::remove_cv_t<T>(value);
  } else {
    return (value);
  }
}

/// What __constant__ variables of this file take.
static std::size_t constant_bytes = 0;

template <class Kernel, class... Arguments>
struct PlainCall {
  Kernel kernel;
  std::tuple<Argument<Arguments>...> arguments;

  static void run(const void* call) {
    const auto& [kernel, arguments] = *static_cast<const PlainCall*>(call);
    std::apply([&](const auto&... each) { kernel(reinterpret_cast<Arguments&>(each.bytes)...); }, arguments);
  }
};

/// kernel<<<configuration>>>(arguments...): returns when the grid has been executed, and throws what run() throws.
template <class Kernel, class... Arguments>
void launch_kernel(const Kernel& kernel, const Configuration& configuration, const Arguments&... arguments) {
  check_launch(configuration.launch, configuration.site);
  if (constexpr std::size_t MOST = 65536; constant_bytes > MOST) {
    throw Error("__constant__ variables take " + std::to_string(constant_bytes) + " bytes, and a GPU has " +
                std::to_string(MOST));
  }
  launch(configuration.launch,
         PlainCall<Kernel, std::decay_t<decltype(as_passed(arguments))>...>{kernel, {as_passed(arguments)...}});
}

/// Ends the launch of a kernel with such a parameter.
inline void is_reference(const char* parameter, Site site = Site::current()) {
  fail((std::string("its parameter ") + parameter + " is a reference, which CUDA forbids: kernels take values").c_str(),
       site);
}

/// Once more through a loop of device code: a loop without an end stays one that the checks see, whatever is left of
/// it.
constexpr void go_round() {
#ifdef SIMT_CHECKED
  if (!std::is_constant_evaluated()) {
    asm volatile("");
  }
#endif
}

/// __cluster_dims__ of the kernel, which has just begun.
inline void wants_clusters(unsigned x = 1, unsigned y = 1, unsigned z = 1, Site site = Site::current()) {
  cluster_dims(x, y, z, site);
}

/// Ends the launch if the block has more threads than the kernel's __launch_bounds__.
inline void launch_bounds(std::size_t most_threads, Site site = Site::current()) {
  if (std::size_t{blockDim.x} * blockDim.y * blockDim.z > most_threads) {
    fail_about_launch_bounds(most_threads, site);
  }
}

template <class T, std::size_t... DIMENSION>
constexpr auto extents_of(std::index_sequence<DIMENSION...>) {
  return std::array<std::size_t, sizeof...(DIMENSION)>{std::extent_v<T, DIMENSION>...};
}

/// A __shared__ variable of the kernel: number NUMBER of a declaration, which has a type `Key` of its own with the
/// alignment.
template <class T, class Key, int NUMBER>
__attribute__((noinline, no_sanitize("thread"))) T& shared_variable(const char* name, Site site = Site::current()) {
  static constexpr auto EXTENTS = extents_of<T>(std::make_index_sequence<std::rank_v<T>>());
  static SharedVariable variable{name, sizeof(T), alignof(Key), EXTENTS, sizeof(std::remove_all_extents_t<T>)};
  return *static_cast<T*>(place_of(variable, site));
}

/// A string as a template argument.
template <std::size_t SIZE>
struct Text {
  char characters[SIZE];
  consteval Text(const char (&text)[SIZE]) {
    for (std::size_t i = 0; i < SIZE; ++i) {
      characters[i] = text[i];
    }
  }
};

/// A local variable of a kernel: an array, or a vector whose address is taken. When it ends, the checks look at what
/// surrounds it. Guards are volatile, so that they are neither left out nor taken for something that others can reach:
/// accesses to local variables are not observed one by one, which would slow the checks down many times over.
template <class T, Text NAME, bool CHECKED = SIMT_IS_CHECKED>
struct Guarded {
  T value;
};
template <class T, Text NAME>
struct Guarded<T, NAME, true> {
  /// Floats near 1, which change when something is added to them. NaN would stay as it is.
  static constexpr std::uint64_t GUARD = 0x3F9D1CEB3F9D1CEB;
  volatile std::uint64_t before[4] = {GUARD, GUARD, GUARD, GUARD};
  T value;
  volatile std::uint64_t behind[4] = {GUARD, GUARD, GUARD, GUARD};

  ~Guarded() {
    std::uint64_t changed_before = 0;
    std::uint64_t changed_behind = 0;
    for (int i = 0; i < 4; ++i) {
      changed_before |= before[i] ^ GUARD;
      changed_behind |= behind[i] ^ GUARD;
    }
    if (changed_before != 0 || changed_behind != 0) {
      fail_about_local(NAME.characters, changed_before != 0);
    }
  }
};

/// extern __shared__ T name[]; outside of functions: what the name does in expressions.
template <class T>
struct DynamicSharedMemory;
template <class T>
struct DynamicSharedMemory<T[]> {
  operator T*() const { return static_cast<T*>(dynamic_shared_memory()); }
  template <class Other>
  explicit operator Other*() const {
    return static_cast<Other*>(dynamic_shared_memory());
  }
  T* operator&() const { return *this; }
};

}  // namespace simt
