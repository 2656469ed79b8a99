#include "simt/plain_cuda.hpp"

#include "translate/tokens.hpp"
#include "translate/translator.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace simt {
namespace {

using Position = std::size_t;

/// Without what headers of other libraries say to nvcc.
std::string without_words(std::string_view foreign) {
  std::string text(foreign);
  for (const std::string_view word : {"__host__", "__device__"}) {
    for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; text.erase(at, word.size())) {
    }
  }
  return text;
}

/// Rewrites tokens where they stand: no end of a line is lost or moved, so that lines stay what they are.
class Translator {
 public:
  Translator(std::vector<Token> tokens, std::string path)
      : path_(std::move(path)), all_(std::move(tokens)), tokens_(code_of(all_, true)), before_(tokens_.size()) {
    for (const Token& token : tokens_) {
      texts_.emplace_back(token.text);
    }
    int depth = 0;
    for (Position at = 0; at < tokens_.size(); ++at) {
      replace_word(at);
      depth += is(at, "{") ? 1 : is(at, "}") ? -1 : 0;
      if (is_identifier(at) &&
          (!is_any(at + 1, {"(", "<<<"}) || is_any(at - 1, {".", "->", "::"}) || (depth > 0 && declares(at)))) {
        other_names_.emplace(tokens_[at].text);
      }
    }
  }

  std::string run() {
    for (Position at = 0; at < tokens_.size(); ++at) {
      follow_scopes(at);
      if (tokens_[at].kind == TokenKind::identifier && in_device_code() && !scopes_.back().of_switch &&
          begins_after_another(at)) {
        guard_local(at);
      }
      if (is_identifier(at)) {
        check_call(at);
      }
      at = rewrite(at);
    }
    std::string result;
    Position at = 0;
    for (const Token& token : all_) {
      const bool is_code = at < tokens_.size() && token.text.data() == tokens_[at].text.data();
      result += is_code                            ? before_[at] + texts_[at]
                : token.kind == TokenKind::foreign ? without_words(token.text)
                                                   : token.text;
      at += is_code ? 1 : 0;
    }
    return result;
  }

 private:
  [[noreturn]] void fail(Position at, const std::string& what) const {
    throw TranslationError(place(at) + ": " + what);
  }
  std::string place(Position at) const {
    const Token& token = tokens_[at];
    return (token.file.empty() ? path_ : std::string(token.file)) + ':' + std::to_string(token.line);
  }

  /// What the host's compiler is to read for a word of CUDA's.
  void replace_word(Position at) {
    if (is_any(at, {"__global__", "__device__", "__host__", "__launch_bounds__", "__grid_constant__", "__constant__",
                    "__managed__", "__shared__", "__restrict__", "__restrict"})) {  // which lambdas do not take over
      texts_[at].clear();
    } else if (is(at, "__forceinline__")) {
      texts_[at] = "inline __attribute__((always_inline))";
    } else if (is(at, "__assert_fail")) {  // of assert()
      texts_[at] = "simt::assertion_failed";
    } else if (is(at, "__noinline__") && !is(at - 1, "(")) {
      // As a macro it would take the C++ library's own __attribute__((__noinline__)) apart.
      texts_[at] = "__attribute__((__noinline__))";
    }
    const Position open = at + 1;
    if (is(at, "__align__") && is(open, "(")) {
      texts_[at] = "__attribute__((aligned";
      texts_[partner(open)] = ")))";
    } else if (is_any(at, {"__launch_bounds__", "__cluster_dims__", "__maxnreg__", "__block_size__"}) &&
               is(open, "(")) {
      clear(at, partner(open));
    }
  }

  /// All from one token to another, but for ends of lines.
  void clear(Position first, Position last) {
    for (Position token = first; token <= last; ++token) {
      texts_[token].assign(static_cast<std::size_t>(std::ranges::count(tokens_[token].text, '\n')), '\n');
    }
  }

  void follow_scopes(Position at) {
    const Token& token = tokens_[at];
    if (token.is("{")) {
      const bool of_device = (!scopes_.empty() && scopes_.back().of_device) ||
                             has_between(statement_begin(at), at, {"__global__", "__device__"});
      const bool of_host =
          (!scopes_.empty() && scopes_.back().of_host) || has_between(statement_begin(at), at, {"__host__"});
      scopes_.push_back({in_namespace() && opens_namespace(at), opens_device_code(at),
                         is(statement_begin(at), "switch"), of_device, of_host});
      if (in_device_code()) {
        check_kernel_head(at);
      }
    } else if (token.is("}") && !scopes_.empty()) {
      scopes_.pop_back();
    }
  }

  /// Rewrites what begins here. Returns its last token, or this one.
  Position rewrite(Position at) {
    const Token& token = tokens_[at];
    if (token.is("<<<")) {
      launch(at);
    } else if (token.is("__shared__")) {
      return shared_variable(at);
    } else if (std::ranges::find(dynamic_, token.text) != dynamic_.end() && is_argument(at)) {
      before_[at] = "+";  // reinterpret_cast and templates take a pointer
    } else if (is_any(at, {"__device__", "__constant__", "__managed__"})) {
      device_variable(at);
    } else if (token.is("static") && in_device_code() &&
               !has_between(statement_begin(at), find(at, {";", "="}), {"const", "constexpr", "__shared__"})) {
      before_[statement_begin(at)] += "simt::not_supported(\"static variables of kernels (" + place(at) + ")\"); ";
    } else if (is_any(at, {"cudaLaunchKernel", "cudaLaunchCooperativeKernel"}) && is(at + 1, "(")) {
      drop_cast(at + 2);
    } else if (token.text.starts_with("cudaMalloc") && is(at + 1, "(") && !is(at - 1, "::") &&
               !(is_identifier(at - 1) && !is(at - 1, "return"))) {
      name_allocation(at);
    } else if (is_any(at, {"asm", "__asm__", "__asm"}) && !scopes_.empty() && scopes_.back().of_device &&
               begins_statement(at)) {
      return assembly(at);
    } else if (token.is("while") && in_device_code() && only_looks(at)) {
      texts_[at] = "for";
      texts_[at + 1] = "(simt::Polling simt_polling; ";
      texts_[partner(at + 1)] = "; simt_polling.again())";
      const Position body = partner(at + 1) + 1;
      if (const Position sleep = is(body, "{") ? body + 1 : body; is(sleep, "__nanosleep")) {
        texts_[sleep] = "static_cast<void>";  // again() lets others run
      }
    } else if (is_any(at, {"do", "for", "while"}) && in_device_code()) {
      const Position close = is(at + 1, "(") ? partner(at + 1) : at;
      if (!token.is("for")) {
        texts_[close + 1] += is(close + 1, "{") ? " simt::go_round();" : "";
      } else if (find(find(at + 2, {";"}) + 1, {";"}) < close) {
        const std::string call = only_looks(at) ? "simt::look_again()" : "simt::go_round()";
        before_[close] += (is(close - 1, ";") ? "" : ", ") + call;  // it may have an end
      }
    }
    return at;
  }

  // ---- Walking ----

  /// Whether a statement ends before this token at the latest.
  bool ends(Position at) const { return at >= tokens_.size() || tokens_[at].kind == TokenKind::directive; }
  bool is(Position at, std::string_view text) const { return at < tokens_.size() && tokens_[at].is(text); }
  bool is_any(Position at, std::initializer_list<std::string_view> texts) const {
    return std::ranges::any_of(texts, [&](std::string_view text) { return is(at, text); });
  }
  bool is_identifier(Position at) const { return at < tokens_.size() && tokens_[at].kind == TokenKind::identifier; }
  bool opens(Position at) const { return at < tokens_.size() && tokens_[at].depth(false) > 0; }

  /// 1 where template arguments begin, -1 where they end, 0 elsewhere.
  int angle(Position at) const { return is(at, "<") ? 1 : is(at, ">") ? -1 : 0; }

  /// The other bracket of the pair that this one belongs to.
  Position partner(Position at) const {
    if (tokens_[at].partner == 0) {
      fail(at, "this bracket has no other one");
    }
    return at + static_cast<Position>(static_cast<std::ptrdiff_t>(tokens_[at].partner));
  }
  /// The first token from here on that is one of `texts` and in no bracket; where a statement ends if there is none.
  Position find(Position at, std::initializer_list<std::string_view> texts) const {
    while (!ends(at) && !is_any(at, texts)) {
      at = opens(at) ? partner(at) + 1 : at + 1;
    }
    return at;
  }
  /// The text of the tokens from one to before another.
  std::string text_between(Position first, Position end) const {
    return text_of(std::span(tokens_).subspan(first, end - first));
  }

  /// Behind `[[attributes]]`, alignments and the like that begin here; else where it is.
  Position behind_attribute(Position at) const {
    if (is_any(at, {"__align__", "alignas", "__attribute__", "__launch_bounds__"})) {
      return is(at + 1, "(") ? partner(at + 1) + 1 : at;
    }
    if (is(at, "[") && is(at + 1, "[")) {
      return partner(at) + 1;
    }
    return at;
  }

  bool in_namespace() const { return std::ranges::find(scopes_, false, &Scope::of_namespace) == scopes_.end(); }
  bool in_device_code() const { return !scopes_.empty() && scopes_.back().device_code; }

  /// The first token of the statement or declaration that this one belongs to.
  Position statement_begin(Position at) const {
    Position begin = at;
    for (Position previous = at - 1; previous < tokens_.size(); --previous) {
      if (ends(previous) || is_any(previous, {";", "{", "}", ":", "(", "["})) {
        break;
      }
      previous = is_any(previous, {")", "]"}) ? partner(previous) : previous;
      begin = previous;
    }
    return begin;
  }

  bool has_between(Position first, Position end, std::initializer_list<std::string_view> texts) const {
    const auto tokens = std::span(tokens_).subspan(first, end - first);
    return std::ranges::find_first_of(tokens, texts, {}, &Token::text) != tokens.end();
  }

  bool opens_namespace(Position brace) const {
    return has_between(statement_begin(brace), brace, {"namespace"}) ||
           (is(brace - 2, "extern") && tokens_[brace - 1].kind == TokenKind::string);
  }

  /// Whether statements follow that a GPU would run. Those of a function that the compiler may evaluate do not count.
  bool opens_device_code(Position brace) const {
    bool device = in_device_code();
    int angles = 0;  // in which "class" names a template's parameter
    for (Position at = statement_begin(brace); at < brace; ++at) {
      angles += angle(at);
      const bool of_type = is_any(at, {"struct", "class", "union", "enum"});
      if (is(at, "(")) {
        at = std::min(partner(at), brace);
      } else if ((of_type && angles == 0) || (is(at, "constexpr") && !is(at - 1, "if"))) {
        return false;
      }
      device = device || is_any(at, {"__global__", "__device__"});
    }
    return device;
  }

  /// Whether another statement ends before this token, or a block of them begins.
  bool begins_after_another(Position at) const { return at > 0 && (ends(at - 1) || is_any(at - 1, {";", "{", "}"})); }

  bool is_argument(Position at) const { return is_any(at - 1, {"(", ","}) && is_any(at + 1, {")", ","}); }

  bool begins_statement(Position at) const { return !is_identifier(at - 1) || is_any(at - 1, {"else", "do"}); }

  /// At the call of cudaMalloc(&d_a, bytes) and the like: messages are to name the memory by its variable.
  void name_allocation(Position at) {
    const Position open = at + 1;
    const Position close = partner(open);
    std::string name;
    for (Position token = open + 1; token < close && !is(token, ","); ++token) {
      token = is(token, "[") ? partner(token) : token;
      name = is_identifier(token) ? tokens_[token].text : std::string_view(name);
    }
    if (!name.empty()) {
      before_[at] += "(simt::name_next_allocation(\"" + name + "\"), ";
      texts_[close] += ")";
    }
  }

  /// Whether the loop does nothing until its condition fails, for which other threads have to run.
  bool only_looks(Position loop) const {
    const bool ends_do =
        is(loop - 1, "}") ? is(partner(loop - 1) - 1, "do") : has_between(statement_begin(loop - 1), loop, {"do"});
    if (ends_do || !is(loop + 1, "(")) {
      return false;
    }
    const Position body = partner(loop + 1) + 1;
    const Position sleep = is(body, "{") ? body + 1 : body;
    const Position end = is(sleep, "__nanosleep") ? partner(sleep + 1) + 2 : sleep;
    return sleep == body ? is(end - (end > body ? 1 : 0), ";") : is(end, "}");
  }

  // ---- kernel<T><<<grid, block>>>(arguments) ----

  /// To a pointer to anything, so that the kernel's type is seen.
  void drop_cast(Position at) {
    const auto is_of_pointer = [](const Token& token) {
      return token.is("void") || token.is("const") || token.is("*");
    };
    if (is(at, "(") && std::all_of(tokens_.begin() + at + 1, tokens_.begin() + partner(at), is_of_pointer)) {
      clear(at, partner(at));
    } else if (is_any(at, {"reinterpret_cast", "static_cast"}) && find(at, {"void"}) < find(at, {">"})) {
      clear(at, find(at, {">"}));
    }
  }

  void launch(Position at) {
    const Position callee = callee_begin(at);
    const auto known = launchable_.find(std::string(tokens_[callee].text));
    if (known != launchable_.end() && !known->second && callee + 1 == at && !other_names_.contains(known->first)) {
      fail(callee, known->first + " is launched and lacks __global__: nvcc refuses it");
    }
    const Position end = end_of_configuration(at);
    const Position open = end + 3;
    const Position close = partner(open);
    const bool arguments = open + 1 != close;
    for (Position argument = open + 1; argument < close; ++argument) {
      if (is(argument, "NULL")) {
        texts_[argument] = "nullptr";
      }
    }
    for (Position at_argument = open + 1; at_argument < close; at_argument = find(at_argument, {","}) + 1) {
      const Position body = find(at_argument, {"{", ","});
      if (is(at_argument, "[") && is(body, "{") && !is(partner(body) + 1, "(") &&
          !has_between(at_argument, body, {"__device__"})) {
        fail(at_argument, "a lambda that a kernel is passed needs __device__: nvcc refuses others");
      }
      const Position braces_end = is(at_argument, "{") ? partner(at_argument) : at_argument;
      for (Position brace = at_argument; brace < braces_end; ++brace) {
        if (is(brace, "{") && (brace == at_argument || is_any(brace - 1, {"{", ","}))) {
          texts_[brace] = "simt::Braces{";
        }
      }
    }
    const std::string_view parameters = "]([[maybe_unused]] auto&... simt_arguments) { ";
    const std::string_view call = "(simt_arguments...); }, simt::Configuration(";
    Position name = at - 1;
    for (Position open = callee; is(open, "(") && partner(open) == name && !has_between(open, name, {"?"}); ++open) {
      --name;  // "(kernel)", as macros write it
    }
    const bool member = is_any(name - 1, {".", "->"});
    if (is(name, ">") || (!member && launchable_.contains(std::string(tokens_[name].text)))) {
      before_[callee].append("simt::launch_kernel([=").append(parameters);
      texts_[at] = call;
    } else {  // a pointer, which the host reads
      before_[callee] += "simt::launch_kernel([simt_kernel = ";
      texts_[at].assign(parameters).append("simt_kernel").append(call);
    }
    texts_[end].assign(1, ')');
    texts_[end + 1].clear();
    texts_[end + 2].clear();
    texts_[open] = arguments ? ", " : "";
  }

  /// The first token of "ns::kernel<int, (A > B)>" and the like before a launch.
  Position callee_begin(Position launch) const {
    Position begin = launch;
    Position at = launch - 1;
    while (at < tokens_.size()) {
      if (is(at, ">")) {
        int depth = 0;
        for (;; --at) {
          depth -= angle(at);
          at = tokens_[at].depth(false) < 0 ? partner(at) : at;
          if (depth == 0) {
            break;
          }
          if (at == 0 || ends(at)) {
            fail(launch, "what is launched here has no template arguments that begin");
          }
        }
        --at;
        if (!is_identifier(at)) {
          fail(launch, "template arguments without a kernel's name are launched here");
        }
        begin = at;
      } else if (is_any(at, {")", "]"})) {
        begin = partner(at);
        at = begin - 1;
        if (is_identifier(at) && !is_any(at, {"return", "else", "do"})) {
          continue;
        }
        break;
      } else if (is_identifier(at)) {
        begin = at;
      } else {
        break;
      }
      const Position link = is(at - 1, "template") ? at - 2 : at - 1;
      if (!is_any(link, {"::", "->", "."})) {
        break;
      }
      begin = link;
      at = link - 1;
      if ((!is_identifier(at) && !is_any(at, {">", ")", "]"})) || is_any(at, {"return", "else", "do"})) {
        break;  // "::kernel"
      }
    }
    if (begin == launch) {
      fail(launch, "no kernel stands before <<<");
    }
    return begin;
  }

  /// The first of the three that close it.
  Position end_of_configuration(Position launch) const {
    for (Position at = find(launch + 1, {">", ";"}); is(at, ">"); at = find(at + 1, {">", ";"})) {
      if (is(at + 1, ">") && is(at + 2, ">") && is(at + 3, "(")) {
        return at;
      }
    }
    fail(launch, "this launch has no >>>( that ends its configuration");
  }

  /// At the brace that opens a kernel: with __launch_bounds__ or __cluster_dims__ each thread compares the launch with
  /// them. What nvcc refuses, or fails on every GPU, ends the translation or the launch.
  void check_kernel_head(Position brace) {
    for (Position at = statement_begin(brace); at < brace; ++at) {
      if (is(at, "__global__") && std::ranges::count(scopes_, false, &Scope::of_namespace) > 1) {
        fail(at, "a kernel can not be a member of a class: nvcc refuses it");
      } else if (is(at, "__global__") && is(brace - 1, ")")) {
        for (Position of = partner(brace - 1) + 1; of < brace - 1; of = opens(of) ? partner(of) + 1 : of + 1) {
          if (is(of, "&") && !is(of - 1, "&") && is_identifier(of + 1) && is_any(of + 2, {",", ")"})) {
            texts_[brace] += " simt::is_reference(\"" + std::string(tokens_[of + 1].text) + "\");";
          }
        }
      } else if (is(at, "__cluster_dims__") && is(at + 1, "(")) {
        texts_[brace] += " simt::wants_clusters" + text_between(at + 1, partner(at + 1) + 1) + ";";
      } else if (is(at, "__launch_bounds__") && is(at + 1, "(")) {
        Position end = at + 2;
        for (int angles = 0; end < partner(at + 1) && (angles > 0 || !is(end, ",")); ++end) {
          angles += angle(end);
          end = opens(end) ? partner(end) : end;
        }
        texts_[brace] += " simt::launch_bounds(" + text_between(at + 2, end) + ");";
      }
    }
  }

  // ---- What device code may call ----

  /// Whether a type, or an operator, stands before the name.
  bool declares(Position name) const {
    return (is_identifier(name - 1) && !is_any(name - 1, {"return", "else", "do", "case", "throw"})) ||
           is_any(name - 1, {"*", "&", ">"});
  }

  /// Notes where a function of no namespace is declared whether device code may call it, and refuses what nvcc refuses
  /// where device code calls one. Names that stand for anything else as well may be called, and nvcc only warns of
  /// calls by functions of both sides.
  void check_call(Position at) {
    constexpr std::array OF_HOST{"vector", "string", "map", "unordered_map", "set", "deque", "cout", "cerr", "sort"};
    const bool of_device = in_device_code() && !scopes_.back().of_host;
    if (of_device && is(at, "std") && is(at + 1, "::") &&
        std::ranges::find(OF_HOST, tokens_[at + 2].text) != OF_HOST.end()) {
      fail(at, "std::" + std::string(tokens_[at + 2].text) + " in a kernel is the host's: nvcc refuses it");
    }
    const std::string name(tokens_[at].text);
    if (!is(at + 1, "(") || behind_attribute(at) != at) {
      return;
    }
    const Position begin = statement_begin(at);
    const bool kernel = has_between(begin, at, {"__global__"});  // perhaps with __launch_bounds__() before its name
    if (in_namespace() && (kernel || declares(at)) && (begin == 0 || begins_after_another(begin))) {
      bool any = !scopes_.empty() || has_between(begin, at, {"=", "("});  // another namespace may have it as well
      for (Position word = begin; word < at; ++word) {  // a macro that nobody has defined may be __device__
        any |= std::ranges::none_of(tokens_[word].text, [](char c) { return c >= 'a' && c <= 'z'; }) &&
               tokens_[word].text.size() > 1;
      }
      launchable_[name] |= any || kernel;
      callable_[name] |= any || kernel || other_names_.contains(name) ||
                         is_any(at, {"abs", "min", "max", "pow", "exp", "sqrt", "round", "printf"}) ||  // CUDA has them
                         has_between(begin, at, {"__device__", "constexpr", "consteval"});
    } else if (const auto known = callable_.find(name); of_device && known != callable_.end() && !known->second) {
      fail(at, "a kernel calls " + name + "(), which lacks __device__: nvcc refuses it");
    }
  }

  // ---- __shared__ ----

  /// Returns the last token of the declaration.
  Position shared_variable(Position at) {
    const Position begin = statement_begin(at);
    const Position end = find(at, {";"});
    if (ends(end)) {
      fail(at, "__shared__ is understood where a whole declaration stands, up to its semicolon");
    }
    const bool dynamic = has_between(begin, end, {"extern"});
    for (Position token = begin; token < end; ++token) {
      if (is_any(token, {"extern", "static", "__shared__"})) {
        texts_[token] = "";
      }
    }
    const std::vector<Position> names = declared_names(begin, end);
    if (names.empty()) {
      fail(at, "this __shared__ declaration names no variable");
    }
    if (find(names.front(), {"=", ";"}) != end) {
      fail(at, "a __shared__ variable can not be initialised where it is declared: nvcc refuses it");
    }
    const std::string type = "simt_shared_" + std::string(tokens_[names.front()].text);
    // nvcc takes a variable with a size as one of the kernel's own, whatever 'extern' says, and warns.
    const Position bracket = names.front() + 1;
    if (dynamic && is(bracket, "[") && is(bracket + 1, "]")) {
      declare_dynamic(begin, names.front(), end, type);
      return end;
    }
    if (in_namespace()) {
      fail(at,
           "a __shared__ variable outside of functions is not supported; declare it in the kernel, or dynamic "
           "shared memory as an array without a size: extern __shared__ float " +
               std::string(tokens_[names.front()].text) + "[];");
    }
    before_[begin] += "struct " + type + " { ";
    texts_[end] = "; };";
    const auto defined = [&](std::size_t i) {
      const std::string text(tokens_[names[i]].text);
      return " auto& " + text + " = simt::shared_variable<decltype(" + type + "::" + text + "), " + type + ", " +
             std::to_string(i) + ">(\"" + text + "\");";
    };
    for (std::size_t i = 0; i < names.size(); ++i) {
      texts_[end] += defined(i);
    }
    return end;
  }

  /// extern __shared__ T name[]; as a reference to the block's dynamic shared memory.
  void declare_dynamic(Position begin, Position name, Position end, const std::string& type) {
    for (Position token = begin; token < end; ++token) {
      if (const Position behind = behind_attribute(token); behind != token) {
        clear(token, behind - 1);
        token = behind - 1;
      }
    }
    before_[begin] += "using " + type + " = ";
    const std::string text(tokens_[name].text);
    if (in_namespace()) {
      texts_[name] = "; inline constexpr simt::DynamicSharedMemory<" + type;
      texts_[end] = "> " + text + ";";
      dynamic_.push_back(tokens_[name].text);
    } else {
      texts_[name] = "; auto& " + text + " = *static_cast<" + type + "(*)";
      texts_[end] = ">(simt::dynamic_shared_memory());";
    }
  }

  /// The positions of "a" and "b" in "T<int, 2> a[4], b".
  std::vector<Position> declared_names(Position begin, Position end) const {
    std::vector<Position> names;
    int angles = 0;
    Position last = end;  // the latest identifier outside of brackets
    bool initialised = false;
    for (Position at = begin; at <= end; ++at) {
      if (const Position behind = behind_attribute(at); behind != at) {
        at = behind - 1;
        continue;
      }
      if (is_any(at, {",", ";"}) && angles == 0) {
        if (last != end) {
          names.push_back(last);
        }
        last = end;
        initialised = false;
      } else if (opens(at)) {
        at = partner(at);
      } else if (is(at, "=") && angles == 0) {
        initialised = true;
      } else if (!initialised && angle(at) != 0) {
        angles += angle(at);
      } else if (!initialised && angles == 0 && is_identifier(at)) {
        last = at;
      }
    }
    return names;
  }

  // ---- Local variables ----

  /// Puts guards around the array or the vector that is declared here, so that the checks notice writes beyond it.
  /// Declarations of several variables and types with template arguments are left as they are.
  void guard_local(Position begin) {
    Position name = tokens_.size();
    unsigned words = 0;
    Position at = begin;
    for (; is_identifier(at) || is_any(at, {"::", "*"}); ++at) {
      if (is_any(at,
                 {"return", "delete",   "throw",   "else",      "case",       "goto", "new",      "using",    "typedef",
                  "static", "extern",   "struct",  "constexpr", "if",         "for",  "while",    "do",       "switch",
                  "break",  "continue", "default", "template",  "__shared__", "asm",  "register", "namespace"})) {
        return;
      }
      words += is_identifier(at) && !is(name, "::") ? 1 : 0;
      name = at;
    }
    if (words < 2 || !is_identifier(name) || is(name - 1, "::")) {
      return;
    }
    const bool array = is(at, "[");
    for (; is(at, "["); at = partner(at) + 1) {
      if (at + 1 == partner(at)) {
        return;  // as many as the initialiser has
      }
    }
    const Position initialiser = is_any(at, {"=", "{"}) ? at : tokens_.size();
    if (initialiser == at) {
      if (array && is(at, "=") && !is(at + 1, "{")) {
        return;
      }
      at = find(at, {";", ","});
    }
    if (!is(at, ";") || (!array && !(address_is_taken(name, at) && (is_vector(begin) || is_template_type(begin))))) {
      return;
    }
    const std::string text(tokens_[name].text);
    const std::string guarded =
        "simt::Guarded<simt_type_" + text + ", \"" + text + " (" + escaped(place(name)) + ")\"> simt_guarded_" + text;
    before_[begin] += "typedef ";
    texts_[name] = "simt_type_" + text;
    if (initialiser < tokens_.size()) {
      const std::string_view braces = is(initialiser, "{") ? "{" : "";
      texts_[initialiser] = "; " + guarded + " = {.value =" + std::string(braces);
      texts_[at] = "};";
    } else {
      texts_[at] = "; " + guarded + ";";
    }
    texts_[at] += " auto& " + text + " = simt_guarded_" + text + ".value;";
  }

  bool is_vector(Position type) const {
    return is_any(type, {"float2", "float3", "float4", "int2", "int4", "uint2", "uint4", "double2", "half2"});
  }

  /// Whether a template has a parameter of this name that stands for a type, which may be a vector.
  bool is_template_type(Position type) const {
    for (Position at = 0; at < type; ++at) {
      if (is_any(at, {"typename", "class"}) && is(at + 1, tokens_[type].text)) {
        return true;
      }
    }
    return false;
  }

  /// Whether "&name" follows in the scope that is open behind `from`.
  bool address_is_taken(Position name, Position from) const {
    int depth = 0;
    for (Position at = from; at < tokens_.size() && depth >= 0; ++at) {
      depth += is(at, "{") ? 1 : is(at, "}") ? -1 : 0;
      if (is(at, "&") && is(at + 1, tokens_[name].text)) {
        return true;
      }
    }
    return false;
  }

  // ---- __device__ and __constant__ ----

  /// Tells the executor of a variable in device memory. Functions and class members are left as they are.
  void device_variable(Position at) {
    if (!in_namespace()) {
      return;
    }
    const Position begin = statement_begin(at);
    Position names = begin;
    int angles = 0;
    Position here = begin;
    for (; !ends(here); ++here) {
      if (const Position behind = behind_attribute(here); behind != here) {
        here = behind - 1;
      } else if (is(here, "decltype")) {
        here = partner(here + 1);
      } else if (is(here, "{") && names == begin && has_between(begin, here, {"struct", "class", "union"})) {
        names = here = partner(here);  // variables of this class may stand behind it
      } else if (is_any(here, {"extern", "template", "operator", "using"}) ||
                 (angles == 0 && is_any(here, {"(", "{"}))) {
        return;
      } else if (angle(here) != 0) {
        angles += angle(here);
      } else if (angles == 0 && is_any(here, {";", "=", "["})) {
        break;
      }
    }
    const Position end = find(here, {";"});
    if (ends(end) || end == registered_) {
      return;
    }
    registered_ = end;
    const bool constant = has_between(begin, end, {"__constant__", "constexpr", "const"});
    const bool in_constant_memory = has_between(begin, end, {"__constant__"});
    texts_[end] = ";";
    const auto defined = [&](Position name) {
      const std::string text(tokens_[name].text);
      return " static const simt::DeviceVariable simt_variable_" + text + "(\"" + text + "\", &" + text + ", sizeof " +
             text + (constant ? ", false" : ", true") + (in_constant_memory ? ", simt::constant_bytes);" : ");");
    };
    for (const Position name : declared_names(names, end)) {
      texts_[end] += defined(name);
    }
  }

  // ---- asm ----

  /// Returns the last token of the statement, before its semicolon.
  Position assembly(Position at) {
    Position open = at + 1;
    while (is_any(open, {"volatile", "__volatile__", "__volatile"})) {
      ++open;
    }
    if (!is(open, "(")) {
      fail(at, "inline assembly has its text in parentheses");
    }
    const Position close = partner(open);
    texts_[at] = translate_assembly(std::span(tokens_).subspan(open + 1, close - open - 1), place(at));
    clear(at + 1, close);
    return close;
  }

  const std::string path_;
  const std::vector<Token> all_;
  const std::vector<Token> tokens_;  ///< those that are no space
  std::vector<std::string> before_;  ///< what is put before them
  std::vector<std::string> texts_;   ///< of them
  struct Scope {
    bool of_namespace = false;
    bool device_code = false;  ///< of a kernel or a __device__ function
    bool of_switch = false;    ///< whose labels may not jump over a variable that is initialised
    bool of_device = false;    ///< likewise, or of one that the compiler may evaluate
    bool of_host = false;      ///< of a function that the host may call as well
  };
  std::vector<Scope> scopes_;                       ///< of open braces
  std::set<std::string, std::less<>> other_names_;  ///< that stand for something else than a function at least once
  std::map<std::string, bool> callable_;            ///< functions of namespaces, and whether device code may call them
  std::map<std::string, bool> launchable_;          ///< and whether they may be kernels
  std::vector<std::string_view> dynamic_;           ///< dynamic shared memory that is declared outside of functions
  Position registered_ = 0;                         ///< the end of the latest declaration of variables in device memory
};

}  // namespace

std::string translate_tokens(std::vector<Token> tokens, const std::string& path) {
  return Translator(std::move(tokens), path).run();
}

}  // namespace simt
