#include "user/scan.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <regex>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sgemm {
namespace {

bool is_word_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

struct Token {
  std::string_view text;
  int line = 0;
  std::size_t at = 0;  ///< in the source

  bool is_word() const {
    return is_word_letter(text.front()) && std::isdigit(static_cast<unsigned char>(text[0])) == 0;
  }
};

struct Comment {
  std::string text;
  int line = 0;
};

/// Takes source text apart into tokens and comments. Preprocessor lines are dropped.
class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {
    while (at_ < source_.size()) {
      step();
    }
  }

  std::vector<Token> tokens;
  std::vector<Comment> comments;

 private:
  void step() {
    const char c = source_[at_];
    if (c == '\n') {
      ++line_;
      ++at_;
      line_is_empty_ = true;
      return;
    }
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at_;
      return;
    }
    const std::string_view rest = source_.substr(at_);
    if (rest.starts_with("//")) {
      take_comment(std::min(rest.find('\n'), rest.size()), 2, 0);
    } else if (rest.starts_with("/*")) {
      const std::size_t end = rest.find("*/", 2);
      take_comment(end == std::string_view::npos ? rest.size() : end + 2, 2, end == std::string_view::npos ? 0 : 2);
    } else if (c == '#' && line_is_empty_) {
      skip_preprocessor_line();
    } else if (rest.starts_with("R\"")) {
      const std::string end =
          fmt::format("){}\"", rest.substr(2, rest.find('(') - std::min(rest.find('('), std::size_t{2})));
      skip(std::min(rest.find(end), rest.size() - end.size()) + end.size());
    } else if (c == '"' || c == '\'') {
      skip_literal(c);
    } else {
      std::size_t length = 1;
      if (is_word_letter(c)) {
        while (length < rest.size() && (is_word_letter(rest[length]) || is_digit_separator(rest, length))) {
          ++length;
        }
      } else if (rest.starts_with("::")) {
        length = 2;
      }
      tokens.push_back({rest.substr(0, length), line_, at_});
      at_ += length;
    }
    line_is_empty_ = false;
  }

  /// The quote of 1'000.
  static bool is_digit_separator(std::string_view rest, std::size_t at) {
    return rest[at] == '\'' && std::isdigit(static_cast<unsigned char>(rest[0])) != 0 && at + 1 < rest.size() &&
           is_word_letter(rest[at + 1]);
  }

  void skip(std::size_t length) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(at_ + length), '\n'));
    at_ += length;
  }

  void take_comment(std::size_t length, std::size_t before, std::size_t behind) {
    comments.push_back({std::string(source_.substr(at_ + before, length - before - behind)), line_});
    skip(length);
  }

  void skip_preprocessor_line() {
    while (at_ < source_.size() && source_[at_] != '\n') {
      const bool continued = source_.substr(at_).starts_with("\\\n");
      if (source_.substr(at_).starts_with("//")) {
        return;  // a comment is no part of it
      }
      skip(continued ? 2 : 1);
    }
  }

  void skip_literal(char quote) {
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote && source_[end] != '\n') {
      end += source_[end] == '\\' ? 2 : 1;
    }
    skip(std::min(end + 1, source_.size()) - at_);
  }

  std::string_view source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_is_empty_ = true;
};

using Tokens = std::vector<Token>;

constexpr std::size_t NOWHERE = static_cast<std::size_t>(-1);

/// The index of the bracket that closes the one at `open`, or NOWHERE.
std::size_t closing(const Tokens& tokens, std::size_t open, std::string_view opens, std::string_view closes) {
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    depth += tokens[i].text == opens ? 1 : tokens[i].text == closes ? -1 : 0;
    if (depth == 0) {
      return i;
    }
  }
  return NOWHERE;
}

/// The parameter that the tokens from `begin` to before `end` declare. In a template's list, `typename T` has the type
/// `typename`.
Parameter parameter_of(const Tokens& tokens, std::size_t begin, std::size_t end) {
  Parameter parameter;
  std::vector<std::string_view> words;
  for (std::size_t i = begin; i < end; ++i) {
    if (tokens[i].text == "=") {
      parameter.has_default = true;
      break;
    }
    words.push_back(tokens[i].text);
  }
  constexpr std::array TYPE_WORDS{"int",  "float", "double", "unsigned", "long", "short",
                                  "char", "bool",  "const",  "size_t",   "auto", "__restrict__"};
  while (words.size() > 2 && words.back() == "]") {  // float A[]: a pointer
    words.erase(std::find(words.rbegin(), words.rend(), "[").base() - 1, words.end());
    words.insert(words.end() - 1, "*");
  }
  if (words.size() > 1 && Token{words.back()}.is_word() &&
      std::find(TYPE_WORDS.begin(), TYPE_WORDS.end(), words.back()) == TYPE_WORDS.end()) {
    parameter.name = words.back();
    words.pop_back();
  }
  parameter.type = fmt::format("{}", fmt::join(words, " "));
  return parameter;
}

std::vector<Parameter> parameters_of(const Tokens& tokens, std::size_t begin, std::size_t end) {
  std::vector<Parameter> parameters;
  int depth = 0;
  std::size_t first = begin;
  for (std::size_t i = begin; i <= end; ++i) {
    const std::string_view text = i < end ? tokens[i].text : ",";
    depth += text == "(" || text == "<" || text == "[" || text == "{"   ? 1
             : text == ")" || text == ">" || text == "]" || text == "}" ? -1
                                                                        : 0;
    if (text == "," && (depth == 0 || i == end)) {
      if (i > first && !(i == first + 1 && tokens[first].text == "void")) {
        parameters.push_back(parameter_of(tokens, first, i));
      }
      first = i + 1;
    }
  }
  return parameters;
}

/// Words that a bracket may follow without being a function's list of parameters.
bool is_attribute(std::string_view word) {
  constexpr std::array ATTRIBUTES{"__launch_bounds__", "__attribute__", "__align__",  "alignas",
                                  "decltype",          "noexcept",      "__declspec", "__cluster_dims__"};
  return std::find(ATTRIBUTES.begin(), ATTRIBUTES.end(), word) != ATTRIBUTES.end();
}

/// The function whose head lies from `begin` to before the brace at `end`, or nothing.
std::optional<Function> function_of(const Tokens& tokens, std::size_t begin, std::size_t end,
                                    const std::vector<std::string>& namespaces) {
  Function function;
  while (begin < end && tokens[begin].text == "template" && begin + 1 < end && tokens[begin + 1].text == "<") {
    const std::size_t close = closing(tokens, begin + 1, "<", ">");
    if (close >= end) {
      return std::nullopt;
    }
    function.template_parameters = parameters_of(tokens, begin + 2, close);
    begin = close + 1;
  }
  for (std::size_t i = begin; i < end; ++i) {
    function.is_kernel = function.is_kernel || tokens[i].text == "__global__";
    if (tokens[i].text == "=" || tokens[i].text == "operator") {
      return std::nullopt;
    }
    if (tokens[i].text != "(") {
      continue;
    }
    const std::size_t close = closing(tokens, i, "(", ")");
    if (i == begin || close >= end) {
      return std::nullopt;
    }
    const Token& name = tokens[i - 1];
    if (is_attribute(name.text)) {
      i = close;
      continue;
    }
    if (!name.is_word() || i < begin + 2) {
      return std::nullopt;
    }
    std::vector<std::string> path = namespaces;
    std::size_t first = i - 1;
    while (first > begin + 2 && tokens[first - 1].text == "::" && tokens[first - 2].is_word()) {
      first -= 2;  // a member that is defined outside of its class
    }
    for (; first < i; first += 2) {
      path.emplace_back(tokens[first].text);
    }
    function.name = fmt::format("{}", fmt::join(path, "::"));
    function.line = name.line;
    function.parameters = parameters_of(tokens, i + 1, close);
    return function;
  }
  return std::nullopt;
}

std::vector<Function> functions_in(const Tokens& tokens) {
  std::vector<Function> functions;
  struct Scope {
    bool named;
  };
  std::vector<Scope> scopes;
  std::vector<std::string> namespaces;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view text = tokens[i].text;
    if (text == ";") {
      begin = i + 1;
    } else if (text == "}") {
      if (!scopes.empty()) {
        if (scopes.back().named) {
          namespaces.pop_back();
        }
        scopes.pop_back();
      }
      begin = i + 1;
    } else if (text == "{") {
      const auto head = [&](std::string_view word) {
        return std::any_of(tokens.begin() + static_cast<std::ptrdiff_t>(begin),
                           tokens.begin() + static_cast<std::ptrdiff_t>(i),
                           [&](const Token& token) { return token.text == word; });
      };
      if (head("namespace")) {
        const bool named = i > begin && tokens[i - 1].text != "namespace";
        scopes.push_back({named});
        if (named) {
          std::string name;
          for (std::size_t word = i; word > begin && tokens[word - 1].text != "namespace"; --word) {
            name.insert(0, tokens[word - 1].text);
          }
          namespaces.push_back(name);
        }
      } else if (i == begin + 1 && tokens[begin].text == "extern") {  // extern "C" {
        scopes.push_back({false});
      } else {
        const std::size_t close = closing(tokens, i, "{", "}");
        if (std::optional<Function> function = function_of(tokens, begin, i, namespaces)) {
          function->begin = tokens[begin].at;
          function->end = close == NOWHERE ? tokens.back().at + tokens.back().text.size() : tokens[close].at + 1;
          functions.push_back(*std::move(function));
        }
        if (close == NOWHERE) {
          return functions;
        }
        i = close;
      }
      begin = i + 1;
    }
  }
  return functions;
}

/// Brackets that are open at the end of `text`.
int open_brackets(std::string_view text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '(') - std::count(text.begin(), text.end(), ')'));
}

/// The comments that begin with "word:", each with those that follow it while its brackets are open.
std::vector<Directive> directives(const std::vector<Comment>& comments, std::string_view word) {
  std::vector<Directive> found;
  for (std::size_t i = 0; i < comments.size(); ++i) {
    const std::string text = trimmed(comments[i].text);
    const std::string head = fmt::format("{}:", word);
    if (!text.starts_with(head)) {
      continue;
    }
    Directive directive{trimmed(std::string_view(text).substr(head.size())), comments[i].line};
    while (open_brackets(directive.text) > 0 && i + 1 < comments.size() &&
           comments[i + 1].line == comments[i].line + 1) {
      ++i;
      directive.text += " " + trimmed(comments[i].text);
    }
    found.push_back(std::move(directive));
  }
  return found;
}

}  // namespace

std::string trimmed(std::string_view text) {
  constexpr std::string_view SPACES = " \t\r\n";
  const std::size_t first = text.find_first_not_of(SPACES);
  return first == std::string_view::npos ? ""
                                         : std::string(text.substr(first, text.find_last_not_of(SPACES) - first + 1));
}

bool Function::needs_template_arguments() const {
  return std::any_of(template_parameters.begin(), template_parameters.end(),
                     [](const Parameter& parameter) { return !parameter.has_default; });
}

std::string Function::signature() const {
  std::vector<std::string> list;
  for (const Parameter& parameter : parameters) {
    list.push_back(parameter.name.empty() ? parameter.type : parameter.type + " " + parameter.name);
  }
  return fmt::format("{}({})", name, fmt::join(list, ", "));
}

bool Scan::has_word(std::string_view word) const { return std::binary_search(words.begin(), words.end(), word); }

Scan scan(std::string_view source) {
  const Lexer lexer(source);
  Scan result;
  result.functions = functions_in(lexer.tokens);
  result.launches = directives(lexer.comments, "launch");
  result.requirements = directives(lexer.comments, "requires");
  result.workspaces = directives(lexer.comments, "workspace");
  for (const Token& token : lexer.tokens) {
    if (token.is_word()) {
      result.words.emplace_back(token.text);
    }
  }
  std::sort(result.words.begin(), result.words.end());
  result.words.erase(std::unique(result.words.begin(), result.words.end()), result.words.end());
  return result;
}

std::string without_main(std::string_view source) {
  static const std::regex DIRECTIVE(R"(\n[ \t]*#)");
  std::string text(source);
  for (const Function& function : scan(source).functions) {
    const auto begin = text.begin() + static_cast<std::ptrdiff_t>(function.begin);
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(function.end);
    if (function.name == "main" && !std::regex_search(begin, end, DIRECTIVE)) {
      std::replace_if(
          begin, end, [](char c) { return c != '\n'; }, ' ');
    }
  }
  return text;
}

std::vector<std::string> split_arguments(std::string_view text) {
  std::vector<std::string> parts;
  int depth = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    depth += c == '(' || c == '<' || c == '[' || c == '{' ? 1 : c == ')' || c == '>' || c == ']' || c == '}' ? -1 : 0;
    if (c == ',' && depth == 0) {
      parts.push_back(trimmed(text.substr(first, i - first)));
      first = i + 1;
    }
  }
  parts.push_back(trimmed(text.substr(first)));
  return parts;
}

namespace {

/// Whether `text` is something in parentheses and nothing else.
bool is_one_list(std::string_view text) {
  int depth = 0;
  for (const Token& token : Lexer(text).tokens) {
    depth += token.text == "(" ? 1 : token.text == ")" ? -1 : 0;
    if (depth == 0 && token.at + 1 != text.size()) {
      return false;
    }
  }
  return depth == 0 && text.starts_with('(');
}

}  // namespace

std::vector<std::string> split_statements(std::string_view text) {
  std::vector<std::string> statements;
  int depth = 0;
  std::size_t first = 0;
  for (const Token& token : Lexer(text).tokens) {
    const char c = token.text.front();
    depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    if (c == ';' && depth == 0) {
      statements.emplace_back(text.substr(first, token.at + 1 - first));
      first = token.at + 1;
    }
  }
  if (first < text.size()) {
    statements.emplace_back(text.substr(first));
  }
  return statements;
}

std::optional<LaunchParts> parts_of_launch(std::string_view statement) {
  // ns::name<T, 8> <<<...>>> (arguments);
  static const std::regex NAME(R"((::)?\w+(\s*::\s*\w+)*\s*(<[^;{}]*>)?)");
  const std::size_t open = statement.find("<<<");
  const std::size_t close = statement.find(">>>", open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos) {
    return std::nullopt;
  }
  std::string arguments = trimmed(statement.substr(close + 3));
  if (arguments.ends_with(';')) {
    arguments = trimmed(std::string_view(arguments).substr(0, arguments.size() - 1));
  }
  LaunchParts parts{trimmed(statement.substr(0, open)), split_arguments(statement.substr(open + 3, close - open - 3)),
                    arguments};
  if (!std::regex_match(parts.kernel, NAME) || parts.configuration.size() < 2 || !is_one_list(arguments)) {
    return std::nullopt;
  }
  return parts;
}

}  // namespace sgemm
