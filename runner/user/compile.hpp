#pragma once

#include "simt/compile.hpp"
#include "user/user_file.hpp"

#include <filesystem>
#include <string>

namespace sgemm {

struct CompiledFile {
  std::filesystem::path
      library;          ///< a shared object with the functions of user/wrapper.hpp, or a cubin with its kernels
  std::string command;  ///< that compiled it, without folders of the runner's own
};

using simt::can_compile_checks;

/// What the file, which has this text, says behind the preprocessor of the executor's compiler. For a GPU, what that
/// one does not take is read as it stands.
simt::Source read_code(const std::string& path, const std::string& text, Target target, const CompileOptions& options);

/// Throws UsageError where there is no compiler for a target.
void require_compiler(Target target);

/// Compiles a user's file for a target, or finds the library in the cache: below the build folder, or in the user's
/// cache folder where that can not be written to. The library is as good as a new one while all text, the flags and the
/// compiler are the same. Throws UsageError, with the compiler's messages, where the file does not compile, where it
/// needs what the target lacks, and where there is no compiler; CaseStopped where the run is interrupted.
CompiledFile compile(const UserFile& file, Target target, const CompileOptions& options);

/// Processes that this one starts have its cache: those that can write nowhere find there what this one has compiled.
void share_cache();

}  // namespace sgemm
