#pragma once

// A source's tokens, of which the translator rewrites some. Together they are the source, character by character.
//
// Boost.Wave's lexer would do, but it comes with a preprocessor's libraries (threads, file systems, serialization) that
// nothing else here needs, takes longer to compile than all of the executor, and gives `<<<` as two tokens. What the
// translator has to tell apart is little: this is 100 lines.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace simt {

enum class TokenKind {
  space,       ///< blanks, ends of lines, comments, a preprocessor's line markers
  foreign,     ///< text of files that are not translated; counts as space
  identifier,  ///< keywords as well
  number,
  string,  ///< literals of strings with their prefix, raw ones too
  character,
  punctuation,  ///< one character each, but for `<<<`, `<<`, `::` and `->`
  directive     ///< a line for the preprocessor
};

struct Token {
  TokenKind kind = TokenKind::space;
  std::string_view text;
  unsigned line = 0;      ///< where it begins, counted from 1
  std::string_view file;  ///< that the latest line marker names; may be empty
  int partner = 0;        ///< among code: how far behind this bracket the one lies that closes it; 0 for none

  bool is(std::string_view expected) const { return text == expected && kind != TokenKind::string; }
  /// 1 for what opens brackets or, where `angles` says so, template arguments; -1 for what closes them; 0 for others.
  int depth(bool angles) const;
};

/// Whether a file's text is left as it is, beside that of the compiler's headers.
using IsForeign = bool (*)(std::string_view file);

/// What no compiler takes, such as a literal without an end, is left for it to complain about.
std::vector<Token> tokens_of(std::string_view source, IsForeign is_foreign = nullptr);

/// The tokens that are no space, with their partners; `literals` and lines for the preprocessor are among them or not.
std::vector<Token> code_of(std::span<const Token> tokens, bool literals);

/// The text of tokens that stand in one source, on one line.
std::string text_of(std::span<const Token> tokens);

/// What a string literal means; empty for prefixes and escapes that no inline assembly has.
std::string text_of_literal(std::string_view literal);

/// For a string literal.
std::string escaped(std::string_view text);

}  // namespace simt
