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

  bool operator==(const UserProblem&) const = default;
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

/// What a file's launch line says of one launch, on the GPU: the wrapper of its device code declares it once more in
/// the same layout. Parameter i of the kernel has the bytes of `arguments` from offsets[i] on; the last offset is the
/// end.
constexpr unsigned MOST_PARAMETERS = 64;
struct UserPlan {
  std::array<unsigned, 3> grid;
  std::array<unsigned, 3> block;
  unsigned long long smem_bytes;
  unsigned parameters;
  std::array<unsigned, MOST_PARAMETERS + 1> offsets;
  alignas(16) std::array<unsigned char, 4096> arguments;

  bool operator==(const UserPlan&) const = default;
};

/// What a file says of a problem, likewise.
struct UserFacts {
  int meets;     ///< whether its requirement holds
  int launches;  ///< of a product
  long long workspace_bytes;
};

/// Kernels of one thread that fill these in: of launch i, and of the problem. The last is no kernel that anybody
/// launches: the name of an instance tells the kernel of a launch.
constexpr std::string_view PLAN_SYMBOL = "sgemm_user_plan_";
constexpr std::string_view FACTS_SYMBOL = "sgemm_user_facts";
constexpr std::string_view NAMED_SYMBOL = "sgemm_named";

/// The functions of CUDA that launch. In a file for a GPU, the linker's --wrap puts the wrapper's own before them,
/// which note what is launched.
constexpr std::array<std::string_view, 5> LAUNCHING_FUNCTIONS{
    "cudaLaunchKernel", "__cudaLaunchKernel", "cudaLaunchCooperativeKernel", "cudaLaunchKernelExC", "cudaGraphLaunch"};

/// The line by which a compiler takes the next one for that of the text's file.
std::string line_directive(const PlacedText& text);

/// What follows the user's text in the translation unit that is compiled: these functions, with the launch, the
/// requirement and the workspace's bytes as they were given, at their own places in the compiler's messages.
std::string wrapper_of(const UserFile& file, Target target);

/// The same for a file whose code for GPUs is taken alone: kernels that evaluate its launch line, its requirement and
/// its workspace's bytes. Throws UsageError where the file launches by its own host code.
std::string device_wrapper_of(const UserFile& file);

}  // namespace sgemm
