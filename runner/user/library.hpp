#pragma once

#include "common/problem.hpp"
#include "user/wrapper.hpp"

#include <cuda_runtime_api.h>

#include <filesystem>

namespace sgemm {

/// A compiled file, loaded for as long as the program lasts. Nothing in it is visible to other libraries.
class UserLibrary {
 public:
  /// Throws std::runtime_error where it can not be loaded.
  explicit UserLibrary(const std::filesystem::path& path);

  /// Whether the file's requirement holds for a problem.
  bool meets_requirement(const Problem& problem) const;
  /// Enqueues the product, as the file says. Throws std::runtime_error on a launch error, and on the executor what the
  /// kernel throws.
  void launch(const Problem& problem, cudaStream_t stream) const;

 private:
  UserLaunchFunction* launch_ = nullptr;
  UserRequirementFunction* requirement_ = nullptr;
};

}  // namespace sgemm
