#include "translate/tokens.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <mutex>
#include <set>

namespace simt {
namespace {

bool is_letter(char c) {
  const auto code = static_cast<unsigned char>(c);
  return std::isalpha(code) != 0 || c == '_' || c == '$' || code >= 0x80;  // all that is not ASCII is part of names
}
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

/// A file's name of a line marker, in which some signs stand behind a backslash or as three octal digits.
std::string_view file_named(std::string_view written) {
  if (written.find('\\') == written.npos) {
    return written;
  }
  std::string name;
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i] == '\\' && i + 3 < written.size() && is_digit(written[i + 1])) {
      name += static_cast<char>(std::stoi(std::string(written.substr(i + 1, 3)), nullptr, 8));
      i += 3;
    } else {
      i += written[i] == '\\' && i + 1 < written.size() ? 1 : 0;
      name += written[i];
    }
  }
  static std::mutex mutex;
  static std::set<std::string> names;  // outlive the tokens
  const std::lock_guard lock(mutex);
  return *names.insert(std::move(name)).first;
}

class Lexer {
 public:
  Lexer(std::string_view source, IsForeign is_foreign) : source_(source), is_foreign_(is_foreign) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) {
      next();
    }
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  bool starts(std::string_view text) const { return source_.substr(at_).starts_with(text); }

  void add(TokenKind kind, std::size_t end) {
    const std::string_view text = source_.substr(at_, end - at_);
    tokens_.push_back({kind, text, line_, file_});
    line_ += static_cast<unsigned>(std::ranges::count(text, '\n'));
    if (text.ends_with('\n')) {
      line_begins_ = true;
    } else if (kind != TokenKind::space || text.find('\n') != text.npos) {
      line_begins_ = kind == TokenKind::space;
    }
    at_ = end;
  }

  void next() {
    const char c = peek();
    if (is_blank(c) || starts("//") || starts("/*") || starts("\\\n") || starts("\\\r\n")) {
      add(TokenKind::space, end_of_space());
    } else if (c == '#' && line_begins_) {
      directive();
    } else if (is_letter(c)) {
      word();
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      number();
    } else if (c == '"') {
      add(TokenKind::string, end_of_quoted(at_));
    } else if (c == '\'') {
      add(TokenKind::character, end_of_quoted(at_));
    } else {
      const bool three = starts("<<<");
      const bool two = starts("::") || starts("->") || starts("<<");
      add(TokenKind::punctuation, at_ + (three ? 3 : two ? 2 : 1));
    }
  }

  /// One piece of it: a comment, or blanks up to one or to the end of the line.
  std::size_t end_of_space() const {
    if (starts("//")) {
      std::size_t end = source_.find('\n', at_);
      while (end != source_.npos && source_[end - 1] == '\\') {
        end = source_.find('\n', end + 1);
      }
      return std::min(end, source_.size());
    }
    if (starts("/*")) {
      return end_behind("*/", at_ + 2);
    }
    if (peek() == '\\') {
      return source_.find('\n', at_) + 1;
    }
    std::size_t end = at_ + 1;
    while (source_[end - 1] != '\n' && end < source_.size() && is_blank(source_[end])) {
      ++end;
    }
    return end;
  }

  void word() {
    std::size_t end = at_;
    while (end < source_.size() && (is_letter(source_[end]) || is_digit(source_[end]))) {
      ++end;
    }
    const std::string_view text = source_.substr(at_, end - at_);
    const bool prefix = text == "u8" || text == "u" || text == "U" || text == "L";
    const char quote = end < source_.size() ? source_[end] : '\0';
    if (quote == '"' && text.ends_with('R') && text.size() <= 3) {
      add(TokenKind::string, end_of_raw(end));
    } else if (prefix && (quote == '"' || quote == '\'')) {
      add(quote == '"' ? TokenKind::string : TokenKind::character, end_of_quoted(end));
    } else {
      add(TokenKind::identifier, end);
    }
  }

  /// Up to the sign of an exponent, which is a token of its own.
  void number() {
    std::size_t end = at_;
    const auto is_part = [&](char c) { return is_letter(c) || is_digit(c); };
    while (end < source_.size() && (is_part(source_[end]) || source_[end] == '.' ||
                                    (source_[end] == '\'' && end + 1 < source_.size() && is_part(source_[end + 1])))) {
      ++end;
    }
    add(TokenKind::number, end);
  }

  /// Behind the next `text`; what has no end goes on to the source's.
  std::size_t end_behind(std::string_view text, std::size_t from) const {
    const std::size_t found = source_.find(text, from);
    return found == source_.npos ? source_.size() : found + text.size();
  }

  /// Of the literal whose quote is at `quote`; behind the quote where the line has no other one.
  std::size_t end_of_quoted(std::size_t quote) const {
    std::size_t end = quote + 1;
    while (end < source_.size() && source_[end] != source_[quote]) {
      if (source_[end] == '\n') {
        break;
      }
      end += source_[end] == '\\' ? 2 : 1;
    }
    return end < source_.size() && source_[end] == source_[quote] ? end + 1 : quote + 1;
  }

  std::size_t end_of_raw(std::size_t quote) const {
    const std::size_t open = source_.find('(', quote);
    if (open != source_.npos) {
      std::string close(1, ')');
      close.append(source_.substr(quote + 1, open - quote - 1)).push_back('"');
      return end_behind(close, open);
    }
    return source_.size();
  }

  /// A preprocessor leaves markers and #pragma.
  void directive() {
    const std::size_t word = std::min(source_.find_first_not_of(" \t", at_ + 1), source_.size());
    if (word < source_.size() && is_digit(source_[word])) {
      marker(word);
    } else {
      add(TokenKind::directive, std::min(source_.find('\n', at_), source_.size()));
    }
  }

  /// A preprocessor's `# 12 "file" 1 3` and what follows of that file, where it is none of the translated ones.
  void marker(std::size_t number) {
    const std::size_t end = end_behind("\n", at_);
    const std::string_view text = source_.substr(number, end - number);
    const std::size_t open = std::min(text.find('"'), text.size());
    const std::size_t close = text.rfind('"');
    const std::string_view file =
        open < close && close != text.npos ? file_named(text.substr(open + 1, close - open - 1)) : "";
    const std::string_view flags = text.substr(std::min(close, text.size()));
    // What a macro of the compiler's headers gives is marked 3, but not 1, and belongs to the file that has the macro.
    if (flags.find('1') != flags.npos && flags.find('3') != flags.npos) {
      of_compiler_.insert(file);
    }
    if (is_foreign_ != nullptr && (of_compiler_.contains(file) || is_foreign_(file))) {
      std::size_t next = end;
      while (next < source_.size() && !(source_.substr(next, 2) == "# " && is_digit(source_.substr(next, 3).back()))) {
        next = end_behind("\n", next);
      }
      add(TokenKind::foreign, next);
      return;
    }
    add(TokenKind::space, end);
    line_ = static_cast<unsigned>(std::strtoul(std::string(text.substr(0, open)).c_str(), nullptr, 10));
    file_ = file;
  }

  const std::string_view source_;
  const IsForeign is_foreign_;
  std::size_t at_ = 0;
  unsigned line_ = 1;
  std::string_view file_;
  std::set<std::string_view> of_compiler_;  ///< headers
  bool line_begins_ = true;                 ///< nothing but space stands before on this line
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source, IsForeign is_foreign) { return Lexer(source, is_foreign).run(); }

int Token::depth(bool angles) const {
  return is("(") || is("[") || is("{") || (angles && is("<"))   ? 1
         : is(")") || is("]") || is("}") || (angles && is(">")) ? -1
                                                                : 0;
}

std::vector<Token> code_of(std::span<const Token> tokens, bool literals) {
  std::vector<Token> code;
  std::vector<std::size_t> open;
  for (const Token& token : tokens) {
    const bool counts =
        token.kind == TokenKind::identifier || token.kind == TokenKind::number || token.kind == TokenKind::punctuation;
    const bool is_space = token.kind == TokenKind::space || token.kind == TokenKind::foreign;
    if (!counts && (is_space || !literals)) {
      continue;
    }
    const int depth = token.depth(false);
    if (depth < 0 && !open.empty()) {
      code[open.back()].partner = static_cast<int>(code.size() - open.back());
    }
    code.push_back(token);
    if (depth > 0) {
      open.push_back(code.size() - 1);
    } else if (depth < 0 && !open.empty()) {
      code.back().partner = -code[open.back()].partner;
      open.pop_back();
    }
  }
  return code;
}

std::string text_of(std::span<const Token> tokens) {
  std::string text;
  const char* end = nullptr;
  for (const Token& token : tokens) {
    text += end == nullptr || end == token.text.data() ? "" : " ";
    text += token.text;
    end = token.text.data() + token.text.size();
  }
  return text;
}

std::string text_of_literal(std::string_view literal) {
  const std::size_t quote = literal.find('"');
  if (literal.substr(0, quote).ends_with('R')) {
    const std::size_t open = literal.find('(');
    return std::string(literal.substr(open + 1, literal.rfind(')') - open - 1));
  }
  std::string text;
  for (std::size_t i = quote + 1; i + 1 < literal.size(); ++i) {
    const bool escape = literal[i] == '\\';
    const char c = literal[i += escape ? 1 : 0];
    text += !escape ? c : c == 'n' ? '\n' : c == 't' || c == '\n' ? ' ' : c;
  }
  return text;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    result += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  }
  return result;
}

}  // namespace simt
