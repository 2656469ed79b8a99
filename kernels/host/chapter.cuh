#pragma once

// Registering a chapter's variants.

#include "common/problem.hpp"
#include "common/target.hpp"
#include "host/kernel.hpp"
#include "host/launch.cuh"

#include <cuda_runtime.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sgemm {
inline namespace SGEMM_TARGET {

/// Sets k to 0 if alpha is 0, because A and B must not be read then, and alpha to 0 if k is 0. So a kernel with an
/// empty sum over k stores beta * C, as BLAS does, and needs no further cases.
inline Problem without_unused_operands(Problem p) {
  if (p.alpha == 0.0F || p.k == 0) {
    p.alpha = 0.0F;
    p.k = 0;
  }
  return p;
}

/// Describes one variant of a chapter, step by step, and registers it:
///
///     const Registration registered = Chapter(5, "coarse_1d")
///         .summary("each thread computes 8 elements of a column of C")
///         .source("Gautam 5")
///         .launcher([](const Problem& p, cudaStream_t stream) { launch(...); })
///         .resources([] { return resources_of(my_kernel, 512); })
///         .registration();
class Chapter {
 public:
  Chapter(int number, std::string name) {
    kernel_.number = number;
    kernel_.name = std::move(name);
    kernel_.min_compute_capability = 75;  // the oldest that CUDA 13 compiles for
  }

  Chapter& variant(std::string name) {
    kernel_.variant = std::move(name);
    return *this;
  }
  Chapter& summary(std::string text) {
    kernel_.summary = std::move(text);
    return *this;
  }
  Chapter& source(std::string text) {
    kernel_.source = std::move(text);
    return *this;
  }
  Chapter& min_compute_capability(int capability) {
    kernel_.min_compute_capability = capability;
    return *this;
  }
  Chapter& max_compute_capability(int capability) {
    kernel_.max_compute_capability = capability;
    return *this;
  }
  /// For kernels with instructions that only code for sm_90a has, and compute capability 9.0 alone runs. Newer GPUs can
  /// not run that code, and no PTX replaces it.
  Chapter& needs_code_for_sm_90a() {
    kernel_.min_compute_capability = kernel_.max_compute_capability = 90;
#ifndef SGEMM_CODE_FOR_SM_90A
    if constexpr (TARGET == Target::for_gpu) {
      build().missing_code = "sm_90a";
    }
#endif
    return *this;
  }
  Chapter& accuracy(AccuracyClass accuracy) {
    kernel_.accuracy = accuracy;
    return *this;
  }
  Chapter& blocks_per_sm(int blocks) {
    kernel_.blocks_per_sm = blocks;
    return *this;
  }
  Chapter& unsupported(std::function<std::optional<std::string>(const Problem&)> reason) {
    kernel_.unsupported = std::move(reason);
    return *this;
  }
  Chapter& resources(std::function<Resources()> query) {
    if constexpr (TARGET == Target::for_gpu) {
      build().resources = std::move(query);
    }
    return *this;
  }
  /// `launch` gets the problem from without_unused_operands().
  Chapter& launcher(std::function<void(const Problem&, cudaStream_t)> launch) {
    const Configuration only{"", 0, [launch = std::move(launch)](const Problem& p, void*, cudaStream_t stream) {
                               launch(without_unused_operands(p), stream);
                             }};
    build().configurations = [only](const Problem&) { return std::vector{only}; };
    return *this;
  }
  /// This stands instead of a launcher, for a kernel that needs a workspace. `only` gets the problem as it is. Its
  /// launch gets the problem as that of launcher() does.
  Chapter& configuration(std::function<Configuration(const Problem&)> only) {
    configurations([only = std::move(only)](const Problem& p) { return std::vector{only(p)}; });
    kernel_.tunable = false;
    return *this;
  }
  /// For a kernel that can compute a problem in several ways. `list` returns the configurations that are worth trying
  /// on the current device. The first one is its own choice.
  Chapter& configurations(std::function<std::vector<Configuration>(const Problem&)> list) {
    kernel_.tunable = true;
    build().allocate = allocate_workspace;
    build().configurations = [list = std::move(list)](const Problem& problem) {
      std::vector<Configuration> all = list(problem);
      for (Configuration& each : all) {
        each.launch = [launch = std::move(each.launch)](const Problem& p, void* workspace, cudaStream_t stream) {
          launch(without_unused_operands(p), workspace, stream);
        };
      }
      return all;
    };
    return *this;
  }
  /// The kernel that registration() registers.
  const Kernel& kernel() const { return kernel_; }
  Registration registration() const { return Registration(kernel_); }

 private:
  /// The build for the target that this file is compiled for.
  Build& build() { return kernel_.build(TARGET); }

  Kernel kernel_;
};

}  // namespace SGEMM_TARGET
}  // namespace sgemm
