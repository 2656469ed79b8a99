#include "algorithms.hpp"
#include "common/cuda_check.hpp"
#include "common/target.hpp"
#include "host/kernel.hpp"
#include "predicted_time.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace sgemm {
namespace {

const Kernel& every_shape() {
  static const Kernel& kernel = *std::find_if(
      kernels().begin(), kernels().end(), [](const Kernel& each) { return each.number == 9 && each.variant.empty(); });
  return kernel;
}

int compute_capability() {
  int device = 0;
  int major = 0;
  int minor = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  return 10 * major + minor;
}

Algorithm algorithm(Configuration configuration, const GemmBatch& batch) {
  Algorithm algorithm;
  algorithm.kernel = "09_every_shape";
  algorithm.configuration = configuration.name;
  algorithm.workspace_bytes = configuration.workspace_bytes;
  const bool lowers_flags = configuration.zeroed_bytes > 0 && configuration.workspace_bytes > 0;
  algorithm.cost = every_shape_cost(Method::every_shape, configuration.predicted_cycles, batch.count, lowers_flags);
  algorithm.launches = batch.count;
  algorithm.launch = one_after_the_other(
      [configuration = std::move(configuration)](const GemmProblem& problem, void* workspace, cudaStream_t stream) {
        const std::size_t zeroed = std::min(configuration.zeroed_bytes, configuration.workspace_bytes);
        if (zeroed > 0) {
          CUDA_CHECK(cudaMemsetAsync(workspace, 0, zeroed, stream));
        }
        configuration.launch(problem, workspace, stream);
      });
  return algorithm;
}

}  // namespace

std::vector<Algorithm> every_shape_algorithms(const GemmBatch& batch) {
  const GemmProblem& p = batch.first;
  const bool is_plain = !p.a_transposed && !p.b_transposed && !p.scalars_on_device() && !batch.addresses_on_device();
  std::vector<Algorithm> algorithms;
  if (is_plain && compute_capability() >= every_shape().min_compute_capability) {
    for (Configuration& configuration : every_shape().build(TARGET).configurations(batch.first)) {
      algorithms.push_back(algorithm(std::move(configuration), batch));
    }
  }
  return algorithms;
}

}  // namespace sgemm
