#pragma once

// Plain CUDA for the executor: a .cu file as nvcc takes it, turned into C++ that the host's compiler takes.
// PLAIN_CUDA.md lists what is understood.

#include "simt/source.hpp"

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace simt {

/// Something in a source that can not be translated: "file:line: what".
class TranslationError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A compiler takes no such file: its messages.
class CompilerError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// How a program ended, and what it wrote.
struct ProgramEnd {
  int status = 0;
  std::string output;
};
/// Runs a program, whose messages are to be English, to its end.
using RunProgram = std::function<ProgramEnd(const std::vector<std::string>& words)>;
ProgramEnd run_program(const std::vector<std::string>& words);

struct Translation {
  std::string text;
  std::vector<std::filesystem::path> files;  ///< that were read: the source, and then what it includes
  std::vector<std::string> missing;          ///< headers that are not there: "my.cu:3: helper_cuda.h"
};

/// The file, preprocessed with all that it includes and then translated, and behind it `more`, plain CUDA as well:
/// C++ that does on the executor what the source does on a GPU. It compiles with what simt_add_kernels() gives a
/// compiler. kernel<<<grid, block>>>(...) becomes a launch, a __shared__ variable a part of the block's shared memory,
/// and inline assembly calls of functions. Messages name the source's own files and lines.
///
/// `compiler` is a compiler's words, with the folders of headers and with definitions (simt/compile.hpp). Headers named
/// as CUDA's are the executor's, and an empty one stands in for each that is missing: names that it would declare are
/// missing where they are needed. `folder` is for files that are no longer needed when this returns.
///
/// Throws TranslationError, CompilerError, and std::filesystem::filesystem_error where a file can not be read or
/// written.
Translation translate_file(const std::filesystem::path& file, const std::vector<std::string>& compiler,
                           const std::filesystem::path& folder, const std::string& more = "",
                           const RunProgram& run = run_program);

/// What the same file says behind the preprocessor, with its comments. Throws as translate_file() does.
Source read_file(const std::filesystem::path& file, std::vector<std::string> compiler,
                 const std::filesystem::path& folder, const RunProgram& run = run_program);

/// A compiler does not take what translate_file() returned, and these are its messages in English. Throws
/// TranslationError, "the executor does not model cudaFoo (my.cu:12)", where the first is about a name that the
/// executor's headers do not have, or one that a missing header may have.
void check_names(const std::string& messages, const std::vector<std::string>& missing_headers);

}  // namespace simt
