#include "base/kernel.hpp"

#include "common/cuda_check.hpp"
#include "host/launch.cuh"
#include "simt/device_memory.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace sgemm {
namespace {

// Built on first use: other files' Registrations may be initialised before this file's globals.
std::vector<Kernel>& registry() {
  static std::vector<Kernel> list;
  return list;
}

// The order in which files are initialised is unspecified, so the list is kept sorted. Baselines without a number
// follow cuBLAS (0) and precede the chapters.
auto rank(const Kernel& kernel) {
  const int group = kernel.number == 0 ? 0 : kernel.number < 0 ? 1 : 2;
  return std::make_tuple(group, kernel.number, kernel.name, kernel.variant);
}

/// Takes from `other` the builds that `kernel` lacks. Returns whether the two had no build in common. They are then
/// compilations of one chapter for different targets.
bool merge(Kernel& kernel, Kernel& other) {
  bool any = false;
  for (std::size_t target = 0; target < kernel.builds.size(); ++target) {
    Build& mine = kernel.builds[target];
    Build& others = other.builds[target];
    if (mine && others) {
      return false;
    }
    if (others) {
      mine = std::move(others);
      any = true;
    }
  }
  return any;
}

/// Those of a block on the current device.
Resources resources_of(const KernelBlock& block) {
  cudaFuncAttributes attributes{};
  allow_dynamic_smem(block.kernel, block.dynamic_smem);
  CUDA_CHECK(cudaFuncGetAttributes(&attributes, block.kernel));
  int blocks_per_sm = 0;
  CUDA_CHECK(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_per_sm, block.kernel, block.threads, block.dynamic_smem));
  return {block.threads, attributes.numRegs, attributes.sharedSizeBytes + block.dynamic_smem, attributes.localSizeBytes,
          blocks_per_sm};
}

}  // namespace

std::string_view to_string(AccuracyClass accuracy) {
  // In the order of the enumeration.
  constexpr std::array<std::string_view, 7> WORDS{"fp32",       "fp32_strassen", "fp32_split", "bf16_split",
                                                  "fp16_split", "int8_split",    "tf32"};
  return WORDS.at(static_cast<std::size_t>(accuracy));
}

std::shared_ptr<void> allocate_on_gpu(std::size_t bytes) {
  void* memory = nullptr;
  CUDA_CHECK(cudaMalloc(&memory, bytes));
  // Errors while freeing are ignored: they repeat an earlier one, or the process is ending.
  std::shared_ptr<void> workspace(memory, [](void* pointer) { cudaFree(pointer); });
  CUDA_CHECK(cudaMemset(memory, 0, bytes));
  CUDA_CHECK(cudaStreamSynchronize(nullptr));  // the first launch may be on a stream that does not wait for this one
  return workspace;
}

std::shared_ptr<void> allocate_for_executor(std::size_t bytes) {
  std::shared_ptr<void> workspace(simt::allocate(bytes), simt::release);
  std::memset(workspace.get(), 0, bytes);
  return workspace;
}

Prepared Build::prepare(Configuration configuration) const {
  std::shared_ptr<void> workspace =
      configuration.workspace_bytes > 0 ? allocate(configuration.workspace_bytes) : nullptr;
  return {std::move(configuration), std::move(workspace), leaves_out_unused};
}

std::string Kernel::numbered_name() const { return number <= 0 ? name : fmt::format("{:02}_{}", number, name); }

std::string Kernel::id() const { return variant.empty() ? numbered_name() : numbered_name() + ":" + variant; }

const std::vector<Kernel>& kernels() { return registry(); }

const Kernel* find_kernel(std::string_view id) {
  const auto found = std::ranges::find(kernels(), id, &Kernel::id);
  return found == kernels().end() ? nullptr : &*found;
}

KernelRegistration::KernelRegistration(Kernel kernel) {
  auto& list = registry();
  const auto place = std::ranges::lower_bound(list, rank(kernel), {}, rank);
  if (place != list.end() && place->id() == kernel.id()) {
    if (!merge(*place, kernel)) {
      throw std::logic_error("kernel " + kernel.id() + " is registered twice");
    }
    return;
  }
  list.insert(place, std::move(kernel));
}

Kernel kernel_of(const CompiledChapter& chapter) {
  Kernel kernel;
  static_cast<KernelFacts&>(kernel) = chapter;
  if (!chapter.configurations) {
    return kernel;
  }
  Build& build = kernel.build(chapter.target);
  build.configurations = chapter.configurations;
  build.leaves_out_unused = true;
  build.allocate = chapter.target == Target::for_gpu ? allocate_on_gpu : allocate_for_executor;
  if (chapter.target == Target::for_gpu) {
    build.missing_code = chapter.missing_code;
    if (chapter.block) {
      build.resources = [block = chapter.block] { return resources_of(block()); };
    }
  }
  return kernel;
}

Registration::Registration(const CompiledChapter& chapter) { KernelRegistration(kernel_of(chapter)); }

}  // namespace sgemm
