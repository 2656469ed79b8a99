#pragma once

#include "common/problem.hpp"
#include "host/kernel.hpp"
#include "user/wrapper.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <filesystem>
#include <optional>

namespace sgemm {

/// The problem as a file's code takes it.
UserProblem problem_of(const Problem& problem, void* workspace = nullptr);

/// A compiled file, loaded.
class UserCode {
 public:
  virtual ~UserCode() = default;

  /// Whether the file's requirement holds for a problem.
  virtual bool meets_requirement(const Problem& problem) const = 0;
  /// The bytes of the workspace that the file asks for; 0 for none. Throws std::runtime_error where they are below 0.
  virtual std::size_t workspace_bytes(const Problem& problem) const = 0;
  /// What a block of the last product occupies on the GPU; nothing where no kernel was launched. Of several kernels, it
  /// is the one whose threads have most registers.
  virtual std::optional<Resources> resources() const = 0;
  /// Enqueues the product, as the file says, with a workspace of so many bytes. Throws std::runtime_error on a launch
  /// error, and on the executor what the kernel throws.
  virtual void launch(const Problem& problem, void* workspace, cudaStream_t stream) const = 0;
};

/// A library with the file's host code, for as long as the program lasts. Nothing in it is visible to other libraries.
class UserLibrary final : public UserCode {
 public:
  /// Throws std::runtime_error where it can not be loaded.
  explicit UserLibrary(const std::filesystem::path& path);

  bool meets_requirement(const Problem& problem) const override;
  std::size_t workspace_bytes(const Problem& problem) const override;
  std::optional<Resources> resources() const override;
  void launch(const Problem& problem, void* workspace, cudaStream_t stream) const override;

 private:
  UserLaunchFunction* launch_ = nullptr;
  UserRequirementFunction* requirement_ = nullptr;
  UserWorkspaceFunction* workspace_ = nullptr;
  UserResourcesFunction* resources_ = nullptr;  ///< null in a library for the executor
};

}  // namespace sgemm
