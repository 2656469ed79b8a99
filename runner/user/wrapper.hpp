#pragma once

#include "common/target.hpp"
#include "user/user_file.hpp"

#include <string>
#include <string_view>

namespace sgemm {

/// The problem as the wrapper's functions take it, declared there once more in the same layout. Users' kernels count in
/// int, which holds every dimension.
struct UserProblem {
  int m;
  int n;
  int k;
  int lda;
  int ldb;
  int ldc;
  float alpha;
  float beta;
  float* a;  ///< not const: many kernels take their inputs so
  float* b;
  float* c;
  void* workspace;  ///< null where the file asks for none
};

/// The functions that the wrapper exports. The first launches and returns the error of the launch, cudaError_t, and
/// its text; the second tells whether the file's requirement holds; the third how many bytes its workspace has.
using UserLaunchFunction = int(const UserProblem*, void* stream, const char** error_text);
using UserRequirementFunction = int(const UserProblem*);
using UserWorkspaceFunction = long long(const UserProblem*);
constexpr std::string_view LAUNCH_SYMBOL = "sgemm_user_launch";
constexpr std::string_view REQUIREMENT_SYMBOL = "sgemm_user_requirement";
constexpr std::string_view WORKSPACE_SYMBOL = "sgemm_user_workspace";

/// What follows the user's text in the translation unit that is compiled: these functions, with the launch, the
/// requirement and the workspace's bytes as they were given, at their own places in the compiler's messages.
std::string wrapper_of(const UserFile& file, Target target);

}  // namespace sgemm
