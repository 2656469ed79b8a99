#pragma once

#include "common/target.hpp"
#include "user/launch.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

struct CompileOptions {
  std::vector<std::string> nvcc_flags;       ///< --nvcc-flags; the host's compiler gets -D, -U and -include of them
  std::vector<std::string> include_folders;  ///< --include
  int compute_capability = 0;                ///< of the GPU, 10 * major + minor
  bool device_code = false;                  ///< --device-code: of a file for a GPU, without its host code
};

/// A part of --kernel that names a file: "my.cu", "my.cu:sgemm" for one of its functions, or "my.cu:*" for all.
struct FileTerm {
  std::string path;      ///< as given
  std::string function;  ///< empty where none is chosen
};

/// Whether a part of --kernel names a file: one that ends with .cu or .cuh, or that is there.
bool names_file(std::string_view term);

/// Takes such a part apart.
FileTerm parse_file_term(std::string_view term);

/// The term itself, or one for each function that can be launched where it asks for all of a file. Throws UsageError
/// where there is no such file, and where it asks for all together with --launch.
std::vector<FileTerm> single_functions(const FileTerm& term, const LaunchOptions& launch, Target target,
                                       const CompileOptions& options);

/// A user's source file as it was read, and how its product is launched.
struct UserFile {
  std::string path;      ///< as given
  std::string function;  ///< as chosen, or empty
  std::string text;
  /// SHA-256 of the text and of what it includes, 64 hex digits; empty where sha256sum (coreutils) is missing.
  std::string hash;
  UserLaunch launch;
  simt::Source source;  ///< what the file says, with all that it includes
};

/// Reads the file and finds its launch. Throws UsageError, with what would help, where there is no such file or nothing
/// to launch in it, and what compile() throws.
UserFile read_user_file(const FileTerm& term, const LaunchOptions& launch, Target target,
                        const CompileOptions& options);

}  // namespace sgemm
