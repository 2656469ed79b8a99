#pragma once

#include "common/target.hpp"
#include "simt/compile.hpp"
#include "user/user_file.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace sgemm {

struct CompileOptions {
  std::vector<std::string> nvcc_flags;       ///< --nvcc-flags; the host's compiler gets -D, -U and -include of them
  std::vector<std::string> include_folders;  ///< --include
  int compute_capability = 0;                ///< of the GPU, 10 * major + minor
  bool device_code = false;                  ///< --device-code: of a file for a GPU, without its host code
};

struct CompiledFile {
  std::filesystem::path
      library;          ///< a shared object with the functions of user/wrapper.hpp, or a cubin with its kernels
  std::string command;  ///< that compiled it, without folders of the runner's own
};

using simt::can_compile_checks;

/// Throws UsageError where there is no compiler for a target.
void require_compiler(Target target);

/// Compiles a user's file for a target, or finds the library in the cache: below the build folder, or in the user's
/// cache folder where that can not be written to. The library is as good as a new one while all text, the flags and the
/// compiler are the same. Throws UsageError, with the compiler's messages, where the file does not compile, where it
/// needs what the target lacks, and where there is no compiler; CaseStopped where the run is interrupted.
CompiledFile compile(const UserFile& file, Target target, const CompileOptions& options);

}  // namespace sgemm
