#pragma once

// Plain CUDA for the executor: a .cu file as nvcc takes it, turned into C++ that the host's compiler takes.
// PLAIN_CUDA.md lists what is understood.

#include <filesystem>
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

/// C++ that does on the executor what the CUDA source `source` does on a GPU. It compiles with what simt_add_kernels()
/// gives a compiler, against the headers in include/simt/cuda/ in place of CUDA's, and says `path` and the source's own
/// lines in messages: each line stays where it is.
///
/// kernel<<<grid, block>>>(...) becomes a launch, a __shared__ variable a part of the block's shared memory, and inline
/// assembly calls of functions. Throws TranslationError.
std::string translate(std::string_view source, const std::string& path);

struct TranslatedFile {
  std::filesystem::path path;                ///< of the translation
  std::vector<std::filesystem::path> files;  ///< that were read: the source, and then what it includes
};

/// Translates the file and all that it includes from its own folder and from `include_folders`, directly or not, into
/// the folder `output`. The translations include one another by their full paths.
///
/// CUDA's headers, and names found in none of these folders, are left to the compiler. Throws TranslationError, and
/// std::filesystem::filesystem_error where a file can not be read or written.
TranslatedFile translate_with_includes(const std::filesystem::path& source,
                                       const std::vector<std::filesystem::path>& include_folders,
                                       const std::filesystem::path& output);

}  // namespace simt
