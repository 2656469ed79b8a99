#pragma once

// How plain CUDA is compiled while a program runs: to a shared object that the program loads. The program links all of
// the executor and shows it to what it loads (in CMake: LINK_LIBRARY_OVERRIDE_simt WHOLE_ARCHIVE and ENABLE_EXPORTS).

#include "simt/plain_cuda.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace simt {

/// Whether this build's compiler can compile with every access observed.
bool can_compile_checks();

/// The folder of the executor's headers: that of the package which the program was installed with, or the sources'.
std::filesystem::path include_folder();

/// $CXX, the compiler that the executor was built with, or g++.
std::string compiler();

/// A compiler's words for translate_file() and for what it returns. The first depend on no folder.
std::vector<std::string> unit_flags(bool checked);
std::vector<std::string> header_flags();
/// To come behind those: the file's own folder and `more`.
std::vector<std::string> folder_flags(const std::filesystem::path& file,
                                      const std::vector<std::filesystem::path>& more);

/// Makes the shared object `library` of a file and of `more` behind it. `compiler` is a compiler's words, and
/// `definitions` (-D, -U, -include) are for its preprocessor alone. Throws as translate_file() does, TranslationError
/// as well where the first that the compiler lacks is a name that the executor's headers do not have.
void compile_file(const std::filesystem::path& file, const std::vector<std::string>& compiler,
                  const std::vector<std::string>& definitions, const std::filesystem::path& folder,
                  const std::string& more, const std::filesystem::path& library, const RunProgram& run = run_program);

}  // namespace simt
