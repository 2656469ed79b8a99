#pragma once

#include "base/kernel.hpp"
#include "common/problem.hpp"
#include "user/wrapper.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>

namespace sgemm {

/// The problem as a file's code takes it.
UserProblem problem_of(const Problem& problem, void* workspace = nullptr);

/// The bytes of a workspace. Throws std::runtime_error where they are below 0.
std::size_t checked_bytes(long long bytes);

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

/// The first function that a file's library calls and nothing defines, as a person writes it; empty where there is
/// none. The library is read, and not loaded: that would run code of the file here.
std::string undefined_function(const std::filesystem::path& path);

/// Loads the code for GPUs of a user's file, a cubin, for the current device. Nothing of the file's host code is in it.
///
/// The file's launch line, its requirement and the bytes of its workspace are kernels beside its own
/// (user/wrapper.hpp), which are launched once for a shape. What they compute is frozen: grids, blocks, shared memory,
/// and arguments, in which addresses of operands take the place of those that the launch line saw. So no code of the
/// file runs on the host, and none but its own launches on the GPU: that is what a judge can believe.
///
/// Throws std::runtime_error where it can not be loaded. launch() throws it, besides, where an argument depends on an
/// address in another way than by a distance.
std::unique_ptr<UserCode> load_device_code(const std::filesystem::path& cubin);

}  // namespace sgemm
