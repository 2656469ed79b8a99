#pragma once

// From a configuration to something that can be launched: its workspace, and what a launch finds in the problem.

#include "common/cuda_check.hpp"
#include "common/target.hpp"
#include "host/kernel.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sgemm {
inline namespace SGEMM_TARGET {

/// k == 0 where A and B must not be read (alpha == 0), and alpha == 0 where k == 0, so that a kernel whose sum over k
/// is empty stores beta * C, as BLAS does, without further cases.
inline Problem without_unused_operands(Problem p) {
  if (p.alpha == 0.0F || p.k == 0) {
    p.alpha = 0.0F;
    p.k = 0;
  }
  return p;
}

/// So many zeros in device memory, freed with the last copy; null for none. Throws CudaError where there is no room.
inline std::shared_ptr<void> make_workspace(std::size_t bytes) {
  if (bytes == 0) {
    return nullptr;
  }
  void* memory = nullptr;
  CUDA_CHECK(cudaMalloc(&memory, bytes));
  // Errors while freeing are ignored: they repeat an earlier one, or the process is ending.
  std::shared_ptr<void> workspace(memory, [](void* pointer) { cudaFree(pointer); });
  CUDA_CHECK(cudaMemset(memory, 0, bytes));
  CUDA_CHECK(cudaStreamSynchronize(nullptr));  // the first launch may be on a stream that does not wait for this one
  return workspace;
}

/// With the workspace, which all copies of the launcher share.
inline Prepared prepare(const Configuration& configuration) {
  const auto launch = [run = configuration.launch, workspace = make_workspace(configuration.workspace_bytes)](
                          const Problem& p, cudaStream_t stream) {
    run(without_unused_operands(p), workspace.get(), stream);
  };
  return {launch, configuration.name, configuration.workspace_bytes};
}

/// The one of that name. Throws std::invalid_argument, which names it and all there are.
inline Configuration find_configuration(const std::vector<Configuration>& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Configuration& x) { return x.name == name; });
  if (found != all.end()) {
    return *found;
  }
  std::string names;
  for (const Configuration& configuration : all) {
    names += (names.empty() ? "" : ", ") + configuration.name;
  }
  throw std::invalid_argument("there is no configuration '" + name + "' for this problem, which has: " + names);
}

}  // namespace SGEMM_TARGET
}  // namespace sgemm
