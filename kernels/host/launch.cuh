#pragma once

// Launching a kernel, and registering a chapter.

#include "common/ceil_div.hpp"
#include "common/cuda_check.hpp"
#include "common/problem.hpp"
#include "common/target.hpp"
#include "host/chapter.hpp"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace sgemm::SGEMM_TARGET {

/// The facts about a device that a choice depends on, besides the problem.
struct Device {
  int multiprocessors = 0;
  int compute_capability = 0;
  int smem_bytes = 0;  ///< of a block, at most
};

inline Device current_device() {
  int index = 0;
  CUDA_CHECK(cudaGetDevice(&index));
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&value, which, index));
    return value;
  };
  return {attribute(cudaDevAttrMultiProcessorCount),
          10 * attribute(cudaDevAttrComputeCapabilityMajor) + attribute(cudaDevAttrComputeCapabilityMinor),
          attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)};
}

/// Persistent blocks for so many tiles of C, no more than finish in the same time: more would take their power.
inline int persistent_blocks(int tiles) { return ceil_div(tiles, ceil_div(tiles, current_device().multiprocessors)); }

/// The dynamic shared memory that kernels have been allowed on devices, until cudaDeviceReset().
inline std::map<std::pair<const void*, int>, std::size_t> allowed_smem;
inline std::mutex allowed_smem_mutex;

/// Blocks with more shared memory than 48 KiB need their kernel's consent, once on each device.
inline void allow_dynamic_smem(const void* kernel, std::size_t bytes) {
  if (bytes > std::size_t{48} * 1024) {
    int device = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    const std::scoped_lock lock(allowed_smem_mutex);
    std::size_t& allowed = allowed_smem[{kernel, device}];
    if (bytes > allowed) {
      CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
      allowed = bytes;
    }
  }
}

inline cudaLaunchConfig_t launch_config(std::int64_t blocks, dim3 threads, std::size_t dynamic_smem,
                                        cudaStream_t stream) {
  return {dim3(static_cast<unsigned>(blocks)), threads, dynamic_smem, stream, nullptr, 0};
}

template <class... Parameters, class... Arguments>
void launch(const cudaLaunchConfig_t& config, void (*kernel)(Parameters...), Arguments... arguments) {
  allow_dynamic_smem(reinterpret_cast<const void*>(kernel), config.dynamicSmemBytes);
  CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...));
}

/// Enqueues `kernel` on a grid of one dimension: x holds 2^31 - 1 blocks, more than any problem needs, and y 65535.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), std::int64_t blocks, dim3 threads, std::size_t dynamic_smem,
            cudaStream_t stream, Arguments... arguments) {
  launch(launch_config(blocks, threads, dynamic_smem, stream), kernel, arguments...);
}

/// Enqueues `kernel` as launch() does, but lets it start before the previous kernel on the stream has ended: see
/// ptx/griddepcontrol.cuh, and in clusters of so many blocks. The executor has neither.
template <unsigned CLUSTER = 1, class... Parameters, class... Arguments>
void launch_dependent(void (*kernel)(Parameters...), std::int64_t blocks, dim3 threads, std::size_t dynamic_smem,
                      cudaStream_t stream, Arguments... arguments) {
  cudaLaunchConfig_t config = launch_config(blocks, threads, dynamic_smem, stream);
#ifdef __CUDACC__
  cudaLaunchAttribute attributes[2] = {{cudaLaunchAttributeProgrammaticStreamSerialization, {}, {}},
                                       {cudaLaunchAttributeClusterDimension, {}, {}}};
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].val.clusterDim = {CLUSTER, 1, 1};
  config.attrs = attributes;
  config.numAttrs = CLUSTER == 1 ? 1 : 2;
#endif
  launch(config, kernel, arguments...);
}

template <class... Parameters>
KernelBlock block_of(void (*kernel)(Parameters...), int threads, std::size_t dynamic_smem) {
  return {reinterpret_cast<const void*>(kernel), threads, dynamic_smem};
}

/// Describes one variant of a chapter, step by step, for its Registration. 05 has a plain one.
class Chapter : public CompiledChapter {
 public:
  Chapter(int number, std::string name, std::string source) {
    KernelFacts::number = number;
    KernelFacts::name = std::move(name);
    KernelFacts::source = std::move(source);
    min_compute_capability = 75;  // the oldest that CUDA 13 compiles for
    target = TARGET;
  }

  Chapter& variant(std::string text) { return set(KernelFacts::variant, std::move(text)); }
  Chapter& summary(std::string text) { return set(KernelFacts::summary, std::move(text)); }
  Chapter& accuracy(AccuracyClass promised) { return set(KernelFacts::accuracy, promised); }
  Chapter& min_capability(int capability) { return set(min_compute_capability, capability); }
  Chapter& unsupported(Refusal reason) { return set(KernelFacts::unsupported, std::move(reason)); }
  /// For kernels with instructions of sm_90a: compute capability 9.0 alone runs that code, and no PTX replaces it.
  Chapter& needs_code_for_sm_90a() {
    max_compute_capability = 90;
#ifndef SGEMM_CODE_FOR_SM_90A
    missing_code = "sm_90a";
#endif
    return min_capability(90);
  }
  /// The block that is launched for an aligned problem, and how many of it an SM of compute capability 9.0 holds.
  template <class... Parameters>
  Chapter& block(void (*kernel)(Parameters...), int threads, std::size_t dynamic_smem, int per_sm) {
    return block([=] { return block_of(kernel, threads, dynamic_smem); }, per_sm);
  }
  /// The same where it depends on the device.
  Chapter& block(std::function<KernelBlock()> block, int per_sm) {
    blocks_per_sm = per_sm;
    return set(CompiledChapter::block, std::move(block));
  }
  /// `launch` sees a k of 0 where alpha is 0, because A and B must not be read then, and an alpha of 0 where k is 0. So
  /// a kernel with an empty sum over k stores beta * C, as BLAS does, and needs no further cases.
  Chapter& launcher(std::function<void(const Problem&, cudaStream_t)> launch) {
    return configuration([launch = std::move(launch)](const Problem&) {
      return Configuration{"", 0, [=](const Problem& p, void*, cudaStream_t stream) { launch(p, stream); }};
    });
  }
  /// Instead of a launcher, for a kernel that needs a workspace. `only` gets the problem as it is, its launch as above.
  Chapter& configuration(std::function<Configuration(const Problem&)> only) {
    return set(CompiledChapter::configurations,
               [only = std::move(only)](const Problem& p) { return std::vector{only(p)}; });
  }
  /// For a kernel with several ways: those worth trying on the current device, its own choice first.
  Chapter& configurations(std::function<std::vector<Configuration>(const Problem&)> list) {
    tunable = true;
    return set(CompiledChapter::configurations, std::move(list));
  }

 private:
  template <class T, class Value>
  Chapter& set(T& fact, Value&& value) {
    fact = std::forward<Value>(value);
    return *this;
  }
};

}  // namespace sgemm::SGEMM_TARGET
