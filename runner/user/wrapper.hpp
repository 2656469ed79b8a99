#pragma once

#include "common/target.hpp"
#include "user/user_file.hpp"

#include <array>
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
  int batch;
  float alpha;
  float beta;
  float* a;  ///< not const: many kernels take their inputs so
  float* b;
  float* c;
  void* workspace;  ///< null where the file asks for none
};

/// What a block of the last product's kernels occupies on the current device, declared there once more in the same
/// layout. Of several kernels, it is the one whose threads have most registers.
struct UserResources {
  int threads_per_block;
  int registers;
  int blocks_per_sm;
  unsigned long long smem_bytes;
  unsigned long long spill_bytes;
};

/// The functions that the wrapper exports. The first launches and returns the error of the launch, cudaError_t, and
/// its text, or LAUNCHED_NOTHING; the second tells whether the file's requirement holds; the third how many bytes its
/// workspace has. The last is for GPUs alone and fills in what a block occupies; it returns 0 where no kernel has been
/// launched.
using UserLaunchFunction = int(const UserProblem*, void* stream, const char** error_text);
using UserRequirementFunction = int(const UserProblem*);
using UserWorkspaceFunction = long long(const UserProblem*);
using UserResourcesFunction = int(UserResources*);
constexpr int LAUNCHED_NOTHING = -1;
constexpr std::string_view LAUNCH_SYMBOL = "sgemm_user_launch";
constexpr std::string_view REQUIREMENT_SYMBOL = "sgemm_user_requirement";
constexpr std::string_view WORKSPACE_SYMBOL = "sgemm_user_workspace";
constexpr std::string_view RESOURCES_SYMBOL = "sgemm_user_resources";

/// The functions of CUDA that launch. In a file for a GPU, the linker's --wrap puts the wrapper's own before them,
/// which note what is launched.
constexpr std::array<std::string_view, 5> LAUNCHING_FUNCTIONS{
    "cudaLaunchKernel", "__cudaLaunchKernel", "cudaLaunchCooperativeKernel", "cudaLaunchKernelExC", "cudaGraphLaunch"};

/// The line by which a compiler takes the next one for that of the text's file.
std::string line_directive(const PlacedText& text);

/// What follows the user's text in the translation unit that is compiled: these functions, with the launch, the
/// requirement and the workspace's bytes as they were given, at their own places in the compiler's messages.
std::string wrapper_of(const UserFile& file, Target target);

}  // namespace sgemm
