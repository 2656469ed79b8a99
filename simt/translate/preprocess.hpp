#pragma once

#include "simt/plain_cuda.hpp"

#include "translate/tokens.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace simt {

/// What the preprocessor makes of the file and is to be translated, behind <simt/plain_kernels.hpp>, and of `more`
/// behind it. CUDA's own words stay what they are. `compiler` is its words, with definitions and folders. Files are
/// written to `folder`. Throws CompilerError with the preprocessor's messages.
Translation preprocess(const std::filesystem::path& file, const std::vector<std::string>& compiler,
                       const std::filesystem::path& folder, const std::string& more, const RunProgram& run);

/// Makes the file's folder as well. Throws std::filesystem::filesystem_error.
void write_file(const std::filesystem::path& path, std::string_view text);

/// The line before `more`.
constexpr std::string_view BEGIN_OF_MORE = "#pragma simt more";

/// The tokens without definitions of the file that `more` does not reach, by any of its words. All of them where there
/// is no `more`.
std::vector<Token> reached(std::vector<Token> tokens);

/// Whether it is one of the executor's headers, which are not translated.
bool is_foreign(std::string_view file);

}  // namespace simt
