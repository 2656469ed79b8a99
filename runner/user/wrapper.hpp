#pragma once

#include "common/target.hpp"
#include "user/user_file.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

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
/// end. Of memory that is filled the address is the one argument, of a constant what is copied there.
constexpr unsigned MOST_PARAMETERS = 64;
struct UserPlan {
  enum class Kind : unsigned { launch, fill, copy };

  std::array<unsigned, 3> grid;
  std::array<unsigned, 3> block;
  std::array<unsigned, 3> cluster;  ///< zeros for none
  unsigned cooperative;
  unsigned long long smem_bytes;
  unsigned long long bytes;  ///< that are filled, or copied
  unsigned long long maps;   ///< bit i: parameter i is a tensor map, and `arguments` has a TensorMapRequest for it
  Kind kind;
  unsigned value;  ///< that memory is filled with, or the first byte of a constant that is copied to
  unsigned parameters;
  std::array<unsigned, MOST_PARAMETERS + 1> offsets;
  alignas(16) std::array<unsigned char, 4096> arguments;

  bool operator==(const UserPlan&) const = default;
};

/// Rows of numbers, of which a kernel copies boxes.
struct TensorMapRequest {
  float* address;
  unsigned long long rows, columns, row_bytes;
  unsigned box_rows, box_columns, element_bytes, swizzle_bytes;
};

/// One of the operands, whose address an argument may have.
enum class Base { none, a, b, c, workspace };

struct AddressArgument {
  std::size_t offset;  ///< in the bytes of all arguments
  Base base;           ///< the eight bytes there are this address and a distance
};

/// Where the launch line is told that an operand lies: nowhere, and for `moved` a distance behind that.
float* address_for_plan(Base base, Base moved);

/// The arguments that have addresses. `plan_with` evaluates the launch line with one of them moved: an argument that
/// moves as far has that address. Throws std::runtime_error where anything else depends on an address.
std::vector<AddressArgument> find_addresses(const UserPlan& plan, const std::function<UserPlan(Base moved)>& plan_with);

/// The arguments with these addresses in place of those for the plan.
void put_addresses(UserPlan& plan, const std::vector<AddressArgument>& arguments, const UserProblem& operands);

/// Where a parameter of a kernel begins in the bytes of all, and its bytes.
struct ParameterPlace {
  std::size_t begin;
  std::size_t bytes;
};

/// Throws std::runtime_error where the kernel, whose parameters these are, would read other bytes than the plan has: a
/// file can write a plan of its own, as its macros hold for the wrapper too.
void require_whole(const UserPlan& plan, const std::vector<ParameterPlace>& parameters);

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

/// Whether the launch line has words that hold for the next launch, or tensor maps: on a GPU, only the runner can
/// launch so. Throws UsageError where no launch follows such a word.
bool needs_device_code(const UserFile& file);

/// The same for a file whose code for GPUs is taken alone: kernels that evaluate its launch line, its requirement and
/// its workspace's bytes. Throws UsageError where the file launches by its own host code.
std::string device_wrapper_of(const UserFile& file);

}  // namespace sgemm
