#include "simt/source.hpp"

#include "translate/preprocess.hpp"
#include "translate/tokens.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace simt {
namespace {

using Tokens = std::span<const Token>;

constexpr std::size_t NOWHERE = static_cast<std::size_t>(-1);

bool is_word(const Token& token) { return token.kind == TokenKind::identifier; }

std::string joined(const std::vector<std::string_view>& parts, std::string_view between) {
  std::string text;
  for (const std::string_view part : parts) {
    text.append(text.empty() ? "" : between).append(part);
  }
  return text;
}

std::vector<Comment> comments_of(const std::vector<Token>& tokens) {
  std::vector<Comment> comments;
  for (const Token& token : tokens) {
    std::string_view text = token.text;
    if (token.kind == TokenKind::space && (text.starts_with("//") || text.starts_with("/*"))) {
      text.remove_suffix(text.starts_with("/*") && text.ends_with("*/") ? 2 : 0);
      comments.push_back({std::string(text.substr(std::min(text.size(), std::size_t{2}))), static_cast<int>(token.line),
                          std::string(token.file)});
    }
  }
  return comments;
}

/// The index of the bracket that closes the one at `open`, which may be an angle bracket, or NOWHERE.
std::size_t closing(Tokens tokens, std::size_t open) {
  if (tokens[open].text != "<") {
    const std::size_t close = open + static_cast<std::size_t>(tokens[open].partner);
    return close > open && close < tokens.size() ? close : NOWHERE;
  }
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    depth += tokens[i].text == "<" ? 1 : tokens[i].text == ">" ? -1 : 0;
    if (depth == 0) {
      return i;
    }
    if (tokens[i].partner > 0) {  // signs in it are no brackets
      i += static_cast<std::size_t>(tokens[i].partner);
    }
  }
  return NOWHERE;
}

/// The parameter that these tokens declare. In a template's list, `typename T` has the type `typename`.
Parameter parameter_of(Tokens tokens) {
  Parameter parameter;
  std::vector<std::string_view> words;
  for (const Token& token : tokens) {
    if (token.text == "=") {
      parameter.has_default = true;
      break;
    }
    words.push_back(token.text);
  }
  constexpr std::array TYPE_WORDS{"int",  "float", "double", "unsigned", "long", "short",
                                  "char", "bool",  "const",  "size_t",   "auto", "__restrict__"};
  const bool is_array = words.size() > 2 && words.back() == "]";
  std::vector<std::string_view> array;  // what a pointer is to
  while (words.size() > 2 && words.back() == "]") {
    const auto open = std::find(words.rbegin(), words.rend(), "[").base() - 1;
    array.insert(array.begin(), open, words.end());
    words.erase(open, words.end());
  }
  const bool pointer = words.size() > 4 && words.back() == ")" && words[words.size() - 3] == "*";
  if (is_array && pointer) {  // float (*A)[N]
    const std::string_view name = words[words.size() - 2];
    words.resize(words.size() - 4);
    words.push_back(name);
  } else if (is_array) {  // float A[N] and A[][N] are pointers, too
    array.erase(array.begin(), std::ranges::find(array, std::string_view("]")) + 1);
  }
  if (words.size() > 1 && is_word(tokens_of(words.back()).front()) &&
      std::ranges::find(TYPE_WORDS, words.back()) == TYPE_WORDS.end()) {
    parameter.name = words.back();
    words.pop_back();
  }
  if (is_array) {
    words.insert(words.end(), {array.empty() ? "*" : "( * )"});
    words.insert(words.end(), array.begin(), array.end());
  }
  parameter.type = joined(words, " ");
  return parameter;
}

/// Those between the brackets.
std::vector<Parameter> parameters_of(Tokens tokens) {
  std::vector<Parameter> parameters;
  int depth = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i <= tokens.size(); ++i) {
    const bool end = i == tokens.size();
    depth += end ? 0 : tokens[i].depth(true);
    if (end || (tokens[i].text == "," && depth == 0)) {
      if (i > first && !(i == first + 1 && tokens[first].text == "void")) {
        parameters.push_back(parameter_of(tokens.subspan(first, i - first)));
      }
      first = i + 1;
    }
  }
  return parameters;
}

/// Words that a bracket may follow without being a function's list of parameters.
bool is_attribute(std::string_view word) {
  constexpr std::array ATTRIBUTES{"__launch_bounds__", "__attribute__", "__align__",     "alignas",
                                  "decltype",          "noexcept",      "__declspec",    "__cluster_dims__",
                                  "requires",          "__maxnreg__",   "__block_size__"};
  return std::ranges::find(ATTRIBUTES, word) != ATTRIBUTES.end();
}

/// The parts of the name that ends at `last`: "Gemm", "run" of "Gemm<T>::run".
std::vector<std::string_view> path_of(Tokens head, std::size_t last) {
  std::vector<std::string_view> path{head[last].text};
  while (last > 2 && head[last - 1].text == "::") {
    last -= 2;
    for (int depth = head[last].depth(true); depth < 0 && last > 0; depth += head[last].depth(true)) {
      --last;
    }
    last -= head[last].text == "<" && last > 0 ? 1 : 0;
    if (!is_word(head[last])) {
      break;
    }
    path.insert(path.begin(), head[last].text);
  }
  return path;
}

/// The function whose head these tokens are, up to its brace, or nothing.
std::optional<Function> function_of(Tokens head, const std::vector<std::string>& namespaces,
                                    const std::set<std::string_view>& all_namespaces) {
  Function function;
  while (head.size() > 1 && head[0].text == "template" && head[1].text == "<") {
    const std::size_t close = closing(head, 1);
    if (close == NOWHERE) {
      return std::nullopt;
    }
    function.template_parameters = parameters_of(head.subspan(2, close - 2));
    head = head.subspan(close + 1);
  }
  for (std::size_t i = 0; i < head.size(); ++i) {
    function.is_kernel = function.is_kernel || head[i].text == "__global__";
    function.is_device = (function.is_device || head[i].text == "__device__") && head[i].text != "__host__";
    if (head[i].text == "=" || head[i].text == "operator") {
      return std::nullopt;
    }
    if (head[i].text != "(") {
      continue;
    }
    const std::size_t close = closing(head, i);
    if (i == 0 || close == NOWHERE) {
      return std::nullopt;
    }
    const Token& name = head[i - 1];
    if (is_attribute(name.text)) {
      i = close;
      continue;
    }
    if (!is_word(name) || i < 2) {
      return std::nullopt;
    }
    std::vector<std::string_view> path(namespaces.begin(), namespaces.end());
    const std::vector<std::string_view> own = path_of(head, i - 1);
    path.insert(path.end(), own.begin(), own.end());
    function.is_method = !function.is_kernel && own.size() > 1 && !all_namespaces.contains(own[own.size() - 2]);
    function.name = joined(path, "::");
    function.file = name.file;
    function.line = static_cast<int>(name.line);
    function.parameters = parameters_of(head.subspan(i + 1, close - i - 1));
    return function;
  }
  return std::nullopt;
}

bool is_class_word(std::string_view word) { return word == "struct" || word == "class" || word == "union"; }

/// The name of the class that this head declares; empty where it declares none, or specialises a template.
std::string_view class_of(Tokens head) {
  if (head.size() > 2 && head[0].text == "template" && head[2].text != ">") {
    const std::size_t close = closing(head, 1);
    head = close == NOWHERE ? Tokens() : head.subspan(close + 1);
  }
  for (std::size_t i = 1; i < head.size() && is_class_word(head[0].text); ++i) {
    if (i + 1 < head.size() && head[i + 1].text == "(") {  // an attribute
      i = std::min(closing(head, i + 1), head.size() - 1);
    } else if (is_word(head[i])) {
      return head[i].text;
    }
  }
  return "";
}

/// The name of the one variable or type that this head declares, or of the template that it instantiates; empty where
/// it is something else.
std::string_view declared_by(Tokens head) {
  constexpr std::array OTHERS{",", "using", "namespace", "enum", "struct", "class", "union", "operator"};
  std::size_t end = head.size();
  int depth = 0;
  for (std::size_t i = 0; i < head.size(); depth += head[i++].depth(true)) {
    const std::string_view text = depth == 0 ? head[i].text : "";
    if (std::ranges::find(OTHERS, text) != OTHERS.end()) {
      return "";
    }
    end = text == "=" || text == "[" || text == "(" ? std::min(end, i) : end;
  }
  if (end < head.size() && head[end].text == "(") {
    if (head[0].text != "template" || head[1].text == "<") {
      return "";
    }
    for (depth = 0; end > 1 && (head[end - 1].text == ">" || depth < 0); --end) {  // of f<float>(const float*)
      depth += head[end - 1].depth(true);
    }
  }
  return end > 1 && is_word(head[end - 1]) && head[end - 2].text != "::" ? head[end - 1].text : "";
}

/// Something at the level of namespaces. What has a name matters to those alone who use it.
struct Item {
  Tokens tokens;
  std::string_view name;             ///< of a function or a class; or empty
  std::optional<Function> function;  ///< that is defined or declared
  bool is_variable = false;
};

std::vector<Item> items_of(Tokens tokens, std::vector<std::string> namespaces = {}) {
  std::vector<Item> items;
  std::vector<bool> scopes;  ///< that are open, and whether they have a name
  std::set<std::string_view> all_namespaces;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Tokens head = tokens.subspan(begin, i - begin);
    const bool opens = tokens[i].text == "{";
    const auto word = opens ? std::ranges::find(head, std::string_view("namespace"), &Token::text) : head.end();
    if (tokens[i].text == "}") {
      if (!scopes.empty()) {
        if (scopes.back()) {
          namespaces.pop_back();
        }
        scopes.pop_back();
      }
    } else if (opens && word != head.end()) {
      std::vector<std::string_view> name;
      std::ranges::transform(word + 1, head.end(), std::back_inserter(name), &Token::text);
      all_namespaces.insert(name.begin(), name.end());
      scopes.push_back(!name.empty());
      if (!name.empty()) {
        namespaces.push_back(joined(name, ""));
      }
    } else if (opens && head.size() == 1 && head[0].text == "extern") {  // extern "C" {
      scopes.push_back(false);
    } else if (opens || tokens[i].text == ";") {
      i = std::min(opens ? closing(tokens, i) : i, tokens.size() - 1);
      const std::string_view next = i + 1 < tokens.size() ? tokens[i + 1].text : "";
      Item item{{}, class_of(head), {}};
      if (!item.name.empty()) {
        if (opens && next != ";") {
          continue;  // variables stand behind it
        }
        i += opens ? 1 : 0;
        item.name = std::ranges::find(head, std::string_view("{"), &Token::text) == head.end() ? item.name : "";
      } else if (head.size() > 3 && head[2].text == "=" && (head[0].text == "using" || head[0].text == "namespace")) {
        item.name = head[1].text;  // an alias
      } else if (head.size() > 1 && is_word(head[0]) && !is_attribute(head[0].text) &&
                 head[0].text != "static_assert" && head[1].text == "(") {
        item.name = head[0].text;  // a macro that nobody has declared, such as PYBIND11_MODULE
      } else if (!head.empty()) {
        item.function = head[0].text == "typedef" ? std::nullopt : function_of(head, namespaces, all_namespaces);
        item.name = item.function || (opens && next != ";") ? "" : declared_by(head);
        item.is_variable = !item.name.empty() && head[0].text != "typedef" && head[0].text != "template";
        if (item.function && next != "{" && next != ",") {  // or else it initialises a member
          const std::string& name = item.function->name;    // who uses a class uses what is defined outside of it
          const std::string user = item.function->is_method ? name.substr(0, name.rfind("::")) : name;
          item.name = std::ranges::find(head, std::string_view(user).substr(user.rfind(':') + 1), &Token::text)->text;
        }
      }
      item.tokens = tokens.subspan(begin, i + 1 - begin);
      items.push_back(std::move(item));
    } else {
      // A brace in a list of parameters opens nothing.
      i += tokens[i].text == "(" && tokens[i].partner > 0 ? static_cast<std::size_t>(tokens[i].partner) : 0;
      continue;
    }
    begin = i + 1;
  }
  return items;
}

/// With the static functions of classes, which are called as those of namespaces are.
std::vector<Item> items_and_static_functions(Tokens code) {
  std::vector<Item> items = items_of(code);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Tokens item = items[i].tokens;
    const auto brace = std::ranges::find(item, std::string_view("{"), &Token::text);
    if (brace == item.end() || items[i].name.empty() || !is_class_word(item[0].text)) {
      continue;
    }
    const auto open = static_cast<std::size_t>(brace - item.begin());
    for (Item& member :
         items_of(item.subspan(open + 1, closing(item, open) - open - 1), {std::string(items[i].name)})) {
      const auto is_static = std::ranges::find(member.tokens, std::string_view("static"), &Token::text);
      if (member.function && is_static != member.tokens.end()) {
        for (Item& other : items) {  // that is defined outside of it
          if (other.function && ("::" + other.function->name).ends_with("::" + member.function->name)) {
            other.function->is_method = false;
          }
        }
        items.push_back(std::move(member));
      }
    }
  }
  return items;
}

/// Parentheses that are open at the end of `text`.
std::ptrdiff_t open_parentheses(std::string_view text) {
  return std::ranges::count(text, '(') - std::ranges::count(text, ')');
}

}  // namespace

std::string trimmed(std::string_view text) {
  constexpr std::string_view SPACES = " \t\r\n";
  const std::size_t first = text.find_first_not_of(SPACES);
  return first == std::string_view::npos ? ""
                                         : std::string(text.substr(first, text.find_last_not_of(SPACES) - first + 1));
}

bool Function::needs_template_arguments() const {
  return !std::ranges::all_of(template_parameters, &Parameter::has_default);
}

std::string Function::signature() const {
  std::string list;
  for (const Parameter& parameter : parameters) {
    list += (list.empty() ? "" : ", ") + parameter.type + (parameter.name.empty() ? "" : " " + parameter.name);
  }
  return name + "(" + list + ")";
}

bool Source::has_word(std::string_view word) const { return std::ranges::binary_search(words, word); }

std::vector<Comment> Source::directives(std::string_view word) const {
  std::vector<Comment> found;
  for (std::size_t i = 0; i < comments.size(); ++i) {
    const std::string text = trimmed(comments[i].text);
    const std::string head = std::string(word) + ":";
    if (!text.starts_with(head)) {
      continue;
    }
    Comment directive{trimmed(std::string_view(text).substr(head.size())), comments[i].line, comments[i].file};
    while (open_parentheses(directive.text) > 0 && i + 1 < comments.size() &&
           comments[i + 1].line == comments[i].line + 1) {
      ++i;
      directive.text.append(" ").append(trimmed(comments[i].text));
    }
    found.push_back(std::move(directive));
  }
  return found;
}

Source read_source(std::string_view text) {
  const std::vector<Token> tokens = tokens_of(text, is_foreign);
  const std::vector<Token> code = code_of(tokens, false);
  Source source{{}, comments_of(tokens), {}, {}, {}, {}};
  std::vector<std::size_t> places;  // of the code's tokens in Source::code
  for (const Token& token : tokens) {
    if (places.size() < code.size() && token.text.data() == code[places.size()].text.data()) {
      places.push_back(source.code.size());
      source.code += token.text;
    } else {
      source.code += ' ';
    }
    if (is_word(token)) {
      source.words.emplace_back(token.text);
    }
  }
  for (Item& item : items_and_static_functions(code)) {
    const Token& last = item.tokens.back();
    if (item.function && last.text != ";") {  // or else it is a declaration
      item.function->begin = places[static_cast<std::size_t>(item.tokens.data() - code.data())];
      item.function->end = places[static_cast<std::size_t>(&last - code.data())] + last.text.size();
      item.function->first_line = static_cast<int>(item.tokens.front().line);
      item.function->last_line = static_cast<int>(last.line);
      source.functions.push_back(*std::move(item.function));
    }
  }
  std::ranges::sort(source.words);
  source.words.erase(std::unique(source.words.begin(), source.words.end()), source.words.end());
  return source;
}

std::vector<Token> reached(std::vector<Token> tokens) {
  const auto more = std::ranges::find_if(
      tokens, [](const Token& token) { return token.kind == TokenKind::directive && token.text == BEGIN_OF_MORE; });
  if (more == tokens.end()) {
    return tokens;
  }
  const std::vector<Token> code = code_of({tokens.begin(), more}, false);
  const std::vector<Token> behind = code_of({more, tokens.end()}, false);
  std::multimap<std::string_view, Tokens> unreached;
  std::set<std::string_view> words;
  std::vector<std::string_view> next;
  const auto add_words = [&](Tokens more_tokens) {
    for (const Token& token : more_tokens) {
      if (is_word(token) && words.insert(token.text).second) {
        next.push_back(token.text);
      }
    }
  };
  const std::vector<Item> items = items_of(code);
  const Token* rest = code.data();  // what belongs to no item
  std::set<std::string_view> declared;
  for (const Item& item : items) {
    declared.insert(item.is_variable ? "" : item.name);
  }
  for (const Item& item : items) {
    // A variable that a function or a constructor of the file makes may set others.
    const bool does_more = item.is_variable && std::ranges::any_of(item.tokens, [&](const Token& token) {
                             return is_word(token) && declared.contains(token.text);
                           });
    if (!item.name.empty() && !does_more) {
      unreached.emplace(item.name, item.tokens);
      add_words({rest, item.tokens.data()});
      rest = item.tokens.data() + item.tokens.size();
    }
  }
  add_words({rest, code.data() + code.size()});
  add_words(behind);
  while (!next.empty()) {
    const auto [first, last] = unreached.equal_range(next.back());
    next.pop_back();
    for (auto item = first; item != last; ++item) {
      add_words(item->second);
    }
    unreached.erase(first, last);
  }
  std::map<const char*, const char*> left_out{{more->text.data(), more->text.data()}};  // from, to the last token
  for (const auto& [name, item] : unreached) {
    left_out.emplace(item.front().text.data(), item.back().text.data());
  }
  std::erase_if(tokens, [&](const Token& token) {
    const auto behind_it = left_out.upper_bound(token.text.data());
    return token.kind != TokenKind::space && token.kind != TokenKind::foreign && behind_it != left_out.begin() &&
           token.text.data() <= std::prev(behind_it)->second;
  });
  return tokens;
}

namespace {

/// The parts of `text` between those of its tokens that are `separator` and no bracket encloses.
std::vector<std::string_view> split(std::string_view text, std::string_view separator, bool angles) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t first = 0;
  const std::vector<Token> tokens = tokens_of(text);
  for (const Token& token : code_of(tokens, true)) {
    depth += token.depth(angles);
    if (token.is(separator) && depth == 0) {
      const auto at = static_cast<std::size_t>(token.text.data() - text.data());
      parts.push_back(text.substr(first, at - first));
      first = at + 1;
    }
  }
  parts.push_back(text.substr(first));
  return parts;
}

}  // namespace

std::vector<std::string> split_arguments(std::string_view text) {
  std::vector<std::string> parts;
  std::ranges::transform(split(text, ",", true), std::back_inserter(parts), trimmed);
  return parts;
}

std::vector<std::string> split_statements(std::string_view text) {
  std::vector<std::string> statements;
  const std::vector<std::string_view> parts = split(text, ";", false);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i + 1 < parts.size() || !parts[i].empty()) {
      statements.emplace_back(std::string(parts[i]) + (i + 1 < parts.size() ? ";" : ""));
    }
  }
  return statements;
}

std::optional<LaunchParts> parts_of_launch(std::string_view statement) {
  const std::vector<Token> all = tokens_of(statement);
  std::vector<Token> code = code_of(all, false);
  const auto at = [&](std::size_t token) {
    return static_cast<std::size_t>(code[token].text.data() - statement.data());
  };
  while (!code.empty() && code.back().text == ";") {
    code.pop_back();
  }
  // ns::name<T, 8>
  const auto index_of = [&](std::string_view text) {
    return static_cast<std::size_t>(std::ranges::find(code, text, &Token::text) - code.begin());
  };
  const std::size_t launch = index_of("<<<");
  const std::size_t name_end = std::min(launch, index_of("<"));
  const Tokens name = Tokens(code).first(name_end);
  const bool is_name = !name.empty() && is_word(name.back()) && std::ranges::all_of(name, [](const Token& token) {
    return is_word(token) || token.text == "::";
  }) && std::ranges::adjacent_find(name, {}, is_word) == name.end();
  if (launch == code.size() || !is_name || (name_end < launch && closing(code, name_end) + 1 != launch)) {
    return std::nullopt;
  }
  // <<<grid, block>>>(arguments)
  std::size_t end = launch + 1;
  for (int depth = 0; end + 3 < code.size(); ++end) {
    depth += code[end].depth(false);
    if (depth == 0 && code[end].text == ">" && code[end + 1].text == ">" && code[end + 2].text == ">" &&
        code[end + 3].text == "(") {
      break;
    }
  }
  if (end + 3 >= code.size() || closing(code, end + 3) != code.size() - 1) {
    return std::nullopt;
  }
  LaunchParts parts{trimmed(statement.substr(0, at(launch))),
                    split_arguments(statement.substr(at(launch) + 3, at(end) - at(launch) - 3)),
                    std::string(statement.substr(at(end + 3), at(code.size() - 1) + 1 - at(end + 3)))};
  return parts.configuration.size() < 2 ? std::nullopt : std::optional(std::move(parts));
}

}  // namespace simt
