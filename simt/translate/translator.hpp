#pragma once

#include "translate/tokens.hpp"

#include <span>
#include <string>
#include <vector>

namespace simt {

/// C++ of what a preprocessor gives: `path` is the file of tokens that name none.
std::string translate_tokens(std::vector<Token> tokens, const std::string& path);

/// A C++ expression that does what an asm statement does, on one line. `tokens` are those between its parentheses. What
/// is not understood becomes a call of simt::not_supported(), which names it and `place` ("file:line") if a kernel gets
/// there.
std::string translate_assembly(std::span<const Token> tokens, const std::string& place);

}  // namespace simt
