#include "user/library.hpp"

#include "base/program.hpp"
#include "base/words.hpp"
#include "problem/batch.hpp"

#include <dlfcn.h>

#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace sgemm {

UserProblem problem_of(const Problem& p, void* workspace) {
  const auto narrow = [](std::int64_t extent) { return static_cast<int>(extent); };  // below 2^31, as Shape says
  return {narrow(p.m),     narrow(p.n), narrow(p.k), narrow(p.lda),           narrow(p.ldb),           narrow(p.ldc),
          narrow(p.batch), p.alpha,     p.beta,      const_cast<float*>(p.a), const_cast<float*>(p.b), p.c,
          workspace};
}

std::size_t checked_bytes(long long bytes) {
  if (bytes < 0) {
    throw std::runtime_error(fmt::format("asks for a workspace of {} bytes", bytes));
  }
  return static_cast<std::size_t>(bytes);
}

std::string undefined_function(const std::filesystem::path& path) {
  std::istringstream lines;
  try {
    lines.str(run_program({"nm", "-D", "-p", "--undefined-only", "--", path.string()}).output);
  } catch (const std::system_error&) {
    return "";  // binutils are missing, which lie beside every compiler
  }
  for (std::string type, symbol; lines >> type >> symbol;) {
    const bool of_libraries = symbol.find('@') != std::string::npos;  // by which it was linked: they have it
    if (type != "U" || of_libraries || dlsym(RTLD_DEFAULT, symbol.c_str()) != nullptr) {
      continue;
    }
    return demangled(symbol);
  }
  return "";
}

UserLibrary::UserLibrary(const std::filesystem::path& path) {
  // A file of a larger program may name functions of other files. They are looked up when they are called.
  void* const handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    throw std::runtime_error(fmt::format("can not load the compiled file: {}", dlerror()));
  }
  const auto find = [&](std::string_view name) { return dlsym(handle, std::string(name).c_str()); };
  launch_ = reinterpret_cast<UserLaunchFunction*>(find(LAUNCH_SYMBOL));
  requirement_ = reinterpret_cast<UserRequirementFunction*>(find(REQUIREMENT_SYMBOL));
  workspace_ = reinterpret_cast<UserWorkspaceFunction*>(find(WORKSPACE_SYMBOL));
  resources_ = reinterpret_cast<UserResourcesFunction*>(find(RESOURCES_SYMBOL));
  if (launch_ == nullptr || requirement_ == nullptr || workspace_ == nullptr) {
    throw std::runtime_error(
        fmt::format("{} lacks the runner's functions: remove it, so that it is compiled again", path.string()));
  }
}

bool UserLibrary::meets_requirement(const Problem& problem) const {
  const UserProblem p = problem_of(problem);
  return requirement_(&p) != 0;
}

std::size_t UserLibrary::workspace_bytes(const Problem& problem) const {
  const UserProblem p = problem_of(problem);
  return checked_bytes(workspace_(&p));
}

std::optional<Resources> UserLibrary::resources() const {
  UserResources found{};
  if (resources_ == nullptr || resources_(&found) == 0) {
    return std::nullopt;
  }
  return Resources{found.threads_per_block, found.registers, found.smem_bytes, found.spill_bytes, found.blocks_per_sm};
}

void UserLibrary::launch(const Problem& problem, void* workspace, cudaStream_t stream) const {
  const UserProblem p = problem_of(problem, workspace);
  const char* text = "";
  const int error = launch_(&p, stream, &text);
  const bool has_products = p.alpha != 0.0F && products(problem) > 0.0;
  if (error == LAUNCHED_NOTHING && has_products) {
    throw std::runtime_error("no kernel was launched: whatever computed C is no kernel");
  }
  if (error != 0 && error != LAUNCHED_NOTHING) {
    throw std::runtime_error(fmt::format("the launch failed: {} (CUDA error {})", text, error));
  }
}

}  // namespace sgemm
