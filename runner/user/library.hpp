#pragma once

#include "common/problem.hpp"
#include "host/kernel.hpp"
#include "user/wrapper.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <filesystem>
#include <optional>

namespace sgemm {

/// A compiled file, loaded for as long as the program lasts. Nothing in it is visible to other libraries.
class UserLibrary {
 public:
  /// Throws std::runtime_error where it can not be loaded.
  explicit UserLibrary(const std::filesystem::path& path);

  /// Whether the file's requirement holds for a problem.
  bool meets_requirement(const Problem& problem) const;
  /// The bytes of the workspace that the file asks for; 0 for none. Throws std::runtime_error where they are below 0.
  std::size_t workspace_bytes(const Problem& problem) const;
  /// What a block of the last product occupies on the GPU; nothing where no kernel was launched. Of several kernels, it
  /// is the one whose threads have most registers.
  std::optional<Resources> resources() const;
  /// Enqueues the product, as the file says, with a workspace of so many bytes. Throws std::runtime_error on a launch
  /// error, and on the executor what the kernel throws.
  void launch(const Problem& problem, void* workspace, cudaStream_t stream) const;

 private:
  UserLaunchFunction* launch_ = nullptr;
  UserRequirementFunction* requirement_ = nullptr;
  UserWorkspaceFunction* workspace_ = nullptr;
  UserResourcesFunction* resources_ = nullptr;  ///< null in a library for the executor
};

}  // namespace sgemm
