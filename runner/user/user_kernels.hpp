#pragma once

#include "base/kernel.hpp"
#include "user/compile.hpp"
#include "user/launch.hpp"

#include <string>
#include <vector>

namespace sgemm {

/// What the command line says about files, for all of them.
struct UserOptions {
  LaunchOptions launch;
  CompileOptions compile;
};

/// The kernels of files named by parts of --kernel, each once, in the order of `terms`. They have a build for every
/// target that files are compiled for; `target` is the one that is going to be run, for which they are compiled at
/// once. Throws UsageError where a file is missing, has nothing to launch or does not compile.
std::vector<Kernel> user_kernels(const std::vector<std::string>& terms, Target target, const UserOptions& options);

/// The statements that start the product of a kernel that user_kernels() has made, and then those by which its file may
/// be understood otherwise.
std::vector<std::string> launches_of(const Kernel& kernel);

/// A function that the kernel's file declares and calls, and nothing defines; empty where there is none.
std::string undefined_function(const Kernel& kernel);

/// The kernels that they make.
std::vector<Kernel> readings_of(const Kernel& kernel);

/// Writes a file with a correct naive kernel, its launch and its requirement, to start from. Throws UsageError where
/// there is one of that name, and where it can not be written.
void write_new_kernel(const std::string& path);

}  // namespace sgemm
