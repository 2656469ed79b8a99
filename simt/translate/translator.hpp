#pragma once

#include "translate/tokens.hpp"

#include <string>
#include <vector>

namespace simt {

/// C++ of what a preprocessor gives: `path` is the file of tokens that name none.
std::string translate_tokens(std::vector<Token> tokens, const std::string& path);

}  // namespace simt
