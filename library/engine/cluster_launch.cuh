#pragma once

// Launches in clusters of blocks (sm_90 and later).

#include "common/cuda_check.hpp"
#include "common/target.hpp"
#include "host/launch.cuh"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace sgemm::SGEMM_TARGET {

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
    launch(config_, kernel, arguments...);
  }

  /// How many clusters of `kernel` the current device runs at the same time.
  template <class... Parameters>
  int clusters_at_once(void (*kernel)(Parameters...)) const {
    const void* const function = reinterpret_cast<const void*>(kernel);
    allow_dynamic_smem(function, config_.dynamicSmemBytes);
    int clusters = 0;
    CUDA_CHECK(cudaOccupancyMaxActiveClusters(&clusters, function, &config_));
    return clusters;
  }

 private:
  cudaLaunchAttribute attribute_{};
  cudaLaunchConfig_t config_;
};

}  // namespace sgemm::SGEMM_TARGET
