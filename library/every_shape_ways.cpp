#include "common/cuda_check.hpp"
#include "common/target.hpp"
#include "host/kernel.hpp"
#include "predicted_time.hpp"
#include "ways.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace sgemm {
namespace {

const Build& every_shape() {
  static const Build& build = std::find_if(kernels().begin(), kernels().end(), [](const Kernel& kernel) {
                                return kernel.number == 9 && kernel.variant.empty();
                              })->build(TARGET);
  return build;
}

Way way(Configuration configuration) {
  Way way;
  way.kernel = "09_every_shape";
  way.configuration = configuration.name;
  way.workspace_bytes = configuration.workspace_bytes;
  way.microseconds = every_shape_microseconds(configuration.predicted_cycles);
  way.launch = [configuration = std::move(configuration)](const GemmProblem& p, void* workspace, cudaStream_t stream) {
    const std::size_t zeroed = std::min(configuration.zeroed_bytes, configuration.workspace_bytes);
    if (zeroed > 0) {
      CUDA_CHECK(cudaMemsetAsync(workspace, 0, zeroed, stream));
    }
    configuration.launch(p, workspace, stream);
  };
  return way;
}

}  // namespace

std::vector<Way> every_shape_ways(const GemmProblem& p) {
  std::vector<Way> ways;
  if (!p.a_transposed && !p.b_transposed && !p.scalars_on_device()) {
    for (Configuration& configuration : every_shape().configurations(p)) {
      ways.push_back(way(std::move(configuration)));
    }
  }
  return ways;
}

}  // namespace sgemm
