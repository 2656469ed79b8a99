#pragma once

#include "user/launch.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

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
std::vector<FileTerm> single_functions(const FileTerm& term, const LaunchOptions& options,
                                       const std::vector<std::string>& include_folders);

/// A user's source file as it was read, and how its product is launched.
struct UserFile {
  std::string path;      ///< as given
  std::string function;  ///< as chosen, or empty
  std::string text;
  std::string hash;  ///< SHA-256 of the text, 64 hex digits; empty where sha256sum (coreutils) is missing
  UserLaunch launch;
  /// Its text and that of every local file that it includes, directly or not.
  std::string all_text;
};

/// Reads the file and finds its launch. Local files are looked for beside the file that includes them and in
/// `include_folders`. Throws UsageError, with what would help, where there is no such file or nothing to launch in it.
UserFile read_user_file(const FileTerm& term, const LaunchOptions& options,
                        const std::vector<std::string>& include_folders);

}  // namespace sgemm
