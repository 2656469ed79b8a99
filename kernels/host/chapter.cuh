#pragma once

// Registering a chapter's variants.

#include "common/target.hpp"
#include "host/configurations.cuh"
#include "host/kernel.hpp"
#include "host/launch.cuh"

#include <cuda_runtime_api.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sgemm {
inline namespace SGEMM_TARGET {

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
  /// For instructions that no code has but that for sm_90a: PTX that newer GPUs or drivers compile has no such path.
  Chapter& needs_code_for_sm_90a() {
#ifndef SGEMM_CODE_FOR_SM_90A
    if constexpr (TARGET == Target::for_gpu) {
      kernel_.missing_code = "sm_90a";
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
      kernel_.resources = std::move(query);
    }
    return *this;
  }
  /// `launch` sees the problem without operands that must not be read: see without_unused_operands().
  Chapter& launcher(Launch launch) {
    of_target(&Kernel::prepare, &Kernel::prepare_on_executor,
              &Kernel::prepare_checked) = [launch = std::move(launch)](const Problem&) {
      return Prepared{[launch](const Problem& p, cudaStream_t stream) { launch(without_unused_operands(p), stream); },
                      {}};
    };
    return *this;
  }
  /// Instead of a launcher, for a kernel that computes a problem in several ways, or works in memory of its own.
  /// `list` gives those worth trying on the current device, the one it would choose itself first. It sees the problem
  /// as it is, their launches as .launcher()'s does. A single configuration may have an empty name.
  Chapter& configurations(std::function<std::vector<Configuration>(const Problem&)> list) {
    of_target(&Kernel::prepare, &Kernel::prepare_on_executor, &Kernel::prepare_checked) = [list](const Problem& p) {
      return prepare(list(p).front());
    };
    of_target(&Kernel::prepare_configuration, &Kernel::prepare_configuration_on_executor,
              &Kernel::prepare_configuration_checked) = [list](const Problem& p, const std::string& name) {
      return prepare(find_configuration(list(p), name));
    };
    if constexpr (TARGET != Target::for_checks) {
      (TARGET == Target::for_gpu ? kernel_.configurations : kernel_.configurations_on_executor) = std::move(list);
    }
    return *this;
  }
  /// What registration() registers.
  const Kernel& kernel() const { return kernel_; }
  Registration registration() const { return Registration(kernel_); }

 private:
  /// The one of three members that this file is compiled for.
  template <class Function>
  Function& of_target(Function Kernel::*for_gpu, Function Kernel::*for_executor, Function Kernel::*for_checks) {
    return kernel_.*(TARGET == Target::for_gpu ? for_gpu : TARGET == Target::for_executor ? for_executor : for_checks);
  }

  Kernel kernel_;
};

}  // namespace SGEMM_TARGET
}  // namespace sgemm
