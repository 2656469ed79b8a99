#pragma once

// Launching a kernel, memory for it beside A, B and C, and reading what it occupies.

#include "common/cuda_check.hpp"
#include "common/target.hpp"
#include "host/kernel.hpp"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace sgemm {
inline namespace SGEMM_TARGET {

/// Blocks and shared memory above this need the kernel's consent (cudaFuncAttributeMaxDynamicSharedMemorySize).
constexpr std::size_t DEFAULT_DYNAMIC_SMEM_LIMIT = std::size_t{48} * 1024;

template <class... Parameters>
void allow_dynamic_smem(void (*kernel)(Parameters...), std::size_t bytes) {
  if (bytes > DEFAULT_DYNAMIC_SMEM_LIMIT) {
    CUDA_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(bytes)));
  }
}

/// A one-dimensional grid.
inline cudaLaunchConfig_t launch_config(std::int64_t blocks, dim3 threads, std::size_t dynamic_smem,
                                        cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = threads;
  config.dynamicSmemBytes = dynamic_smem;
  config.stream = stream;
  return config;
}

/// Enqueues `kernel` on a one-dimensional grid. The x axis holds 2^31 - 1 blocks, more than any problem that fits in
/// memory needs, while the y axis ends at 65535. Chapters derive their tile's row and column from blockIdx.x.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), std::int64_t blocks, dim3 threads, std::size_t dynamic_smem,
            cudaStream_t stream, Arguments... arguments) {
  allow_dynamic_smem(kernel, dynamic_smem);
  const cudaLaunchConfig_t config = launch_config(blocks, threads, dynamic_smem, stream);
  CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...));
}

/// A launch in clusters of so many blocks, 8 at most.
class ClusterLaunch {
 public:
  /// Of `blocks` blocks, a multiple of `cluster`.
  ClusterLaunch(int cluster, std::int64_t blocks, dim3 threads, std::size_t dynamic_smem, cudaStream_t stream)
      : config_(launch_config(blocks, threads, dynamic_smem, stream)) {
    attribute_.id = cudaLaunchAttributeClusterDimension;
    attribute_.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
    config_.attrs = &attribute_;
    config_.numAttrs = 1;
  }
  ClusterLaunch(const ClusterLaunch&) = delete;
  ClusterLaunch& operator=(const ClusterLaunch&) = delete;

  /// Enqueues `kernel`.
  template <class... Parameters, class... Arguments>
  void enqueue(void (*kernel)(Parameters...), Arguments... arguments) const {
    allow_dynamic_smem(kernel, config_.dynamicSmemBytes);
    CUDA_CHECK(cudaLaunchKernelEx(&config_, kernel, Parameters(arguments)...));
  }

  /// How many clusters of `kernel` the current device runs at the same time.
  template <class... Parameters>
  int clusters_at_once(void (*kernel)(Parameters...)) const {
    allow_dynamic_smem(kernel, config_.dynamicSmemBytes);
    int clusters = 0;
    CUDA_CHECK(cudaOccupancyMaxActiveClusters(&clusters, reinterpret_cast<const void*>(kernel), &config_));
    return clusters;
  }

 private:
  cudaLaunchAttribute attribute_{};
  cudaLaunchConfig_t config_;
};

#ifdef __CUDACC__

/// Enqueues `kernel` as launch() does, but lets it start before the previous kernel on the stream has ended: see
/// ptx/griddepcontrol.cuh.
template <class... Parameters, class... Arguments>
void launch_dependent(void (*kernel)(Parameters...), std::int64_t blocks, dim3 threads, std::size_t dynamic_smem,
                      cudaStream_t stream, Arguments... arguments) {
  allow_dynamic_smem(kernel, dynamic_smem);
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = launch_config(blocks, threads, dynamic_smem, stream);
  config.attrs = &early;
  config.numAttrs = 1;
  CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...));
}

#else  // the executor runs one kernel after the other

template <class... Parameters, class... Arguments>
void launch_dependent(void (*kernel)(Parameters...), std::int64_t blocks, dim3 threads, std::size_t dynamic_smem,
                      cudaStream_t stream, Arguments... arguments) {
  launch(kernel, blocks, threads, dynamic_smem, stream, arguments...);
}

#endif

/// Allocates `bytes` zeros in the memory of the current device. Throws CudaError if there is no room.
inline std::shared_ptr<void> allocate_workspace(std::size_t bytes) {
  void* memory = nullptr;
  CUDA_CHECK(cudaMalloc(&memory, bytes));
  // Errors while freeing are ignored: they repeat an earlier one, or the process is ending.
  std::shared_ptr<void> workspace(memory, [](void* pointer) { cudaFree(pointer); });
  CUDA_CHECK(cudaMemset(memory, 0, bytes));
  CUDA_CHECK(cudaStreamSynchronize(nullptr));  // the first launch may be on a stream that does not wait for this one
  return workspace;
}

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

/// Registers, shared memory, spills and occupancy of `kernel` on the current device.
template <class... Parameters>
Resources resources_of(void (*kernel)(Parameters...), int threads_per_block, std::size_t dynamic_smem = 0) {
  const void* const function = reinterpret_cast<const void*>(kernel);
  allow_dynamic_smem(kernel, dynamic_smem);
  cudaFuncAttributes attributes{};
  CUDA_CHECK(cudaFuncGetAttributes(&attributes, function));
  Resources resources;
  resources.threads_per_block = threads_per_block;
  resources.registers = attributes.numRegs;
  resources.smem_bytes = attributes.sharedSizeBytes + dynamic_smem;
  resources.spill_bytes = attributes.localSizeBytes;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resources.blocks_per_sm, function, threads_per_block,
                                                           dynamic_smem));
  return resources;
}

}  // namespace SGEMM_TARGET
}  // namespace sgemm
