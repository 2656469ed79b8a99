#include "user/launch.hpp"

#include "base/usage_error.hpp"
#include "base/words.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sgemm {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::string in_lower_case(std::string_view text) {
  std::string lower;
  for (const char c : text) {
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return lower;
}

// ---- What the names of parameters mean ----

using Meanings = std::vector<std::pair<std::regex, std::string>>;

/// By the first pattern that the whole name has, in lower case and without what stands before and behind it for the
/// memory that it is in; empty where there is none.
std::string meaning_of(std::string_view written, const Meanings& meanings) {
  static const std::regex BEFORE("^(d|dev|device|h|host|gpu|mat|matrix|p|ptr|param|in|num|n)_");
  static const std::regex BEHIND("_(d|dev|device|gpu|ptr|mat|matrix|)$");
  const std::string name = in_lower_case(written);
  const std::string plain = std::regex_replace(std::regex_replace(name, BEFORE, ""), BEHIND, "");
  for (std::string form : {name, plain}) {
    std::erase(form, '_');
    for (const auto& [pattern, meaning] : meanings) {
      if (std::regex_match(form, pattern)) {
        return meaning;
      }
    }
  }
  return "";
}

/// Whole numbers: extents, distances between rows, and the number of products. "K N M" of "rows of B" are as the
/// matrices lie in C = A * B.
std::string size_of(std::string_view name) {
  const auto of = [](const char* matrices, const char* extents) {
    return std::regex(
        fmt::format("(num|n|nr|no)?(mat|matrix)?{0}{1}|(num|n|nr|no)?{1}(of|in)?(mat|matrix)?{0}", matrices, extents));
  };
  constexpr const char* ROWS = "(rows?|height|h)";
  constexpr const char* COLUMNS = "(columns?|cols?|width|w)";
  static const Meanings MEANINGS{
      {std::regex("(dim|size|num)?m(dim|size)?|rows?|(num|n)rows|height|bt"), "M"},
      {std::regex(
           "(dim|size|num)?n(dim|size)?|cols?|columns?|(num|n)(cols|columns)|width|out(features|dim|size|channels)|oc"),
       "N"},
      {std::regex("(dim|size|num)?k(dim|size)?|inner(dim)?|depth|common(dim)?|in(features|dim|channels)"), "K"},
      {of("a", ROWS), "M"},
      {of("a", COLUMNS), "K"},
      {of("b", ROWS), "K"},
      {of("b", COLUMNS), "N"},
      {of("c", ROWS), "M"},
      {of("c", COLUMNS), "N"},
      {std::regex("(ld|stride|pitch|lead|leading)(dim)?a|a(ld|stride|pitch)"), "lda"},
      {std::regex("(ld|stride|pitch|lead|leading)(dim)?b|b(ld|stride|pitch)"), "ldb"},
      {std::regex("(ld|stride|pitch|lead|leading)(dim)?c|c(ld|stride|pitch)"), "ldc"},
      {std::regex("batch(es|count|size)?|numbatch(es)?"), "batch"},
      {std::regex(".*(block|tile|threads?).*"), "16"},
  };
  return meaning_of(name, MEANINGS);
}

std::string matrix_of(std::string_view name) {
  static const Meanings MEANINGS{
      {std::regex("(d|dev|device|mat|matrix|gpu|in)?a|inp(ut)?|lhs|left|mat1|data1\\d*|x"), "A"},
      {std::regex("(d|dev|device|mat|matrix|gpu|in)?b|weights?|rhs|right|mat2|data2\\d*|w"), "B"},
      {std::regex(
           "(d|dev|device|mat|matrix|gpu|out)?c|out(put)?|res(ult)?s?|dst|dest|ans(wer)?|prod(uct)?|data0\\d*|y"),
       "C"},
      {std::regex("bias"), "nullptr"},
  };
  return meaning_of(name, MEANINGS);
}

/// Whether names tell that B lies transposed, as the weights of a layer of a network do.
bool is_transposed_by_names(const std::vector<simt::Parameter>& parameters) {
  static const Meanings OF_LAYERS{{std::regex("weights?|(b|w)t(rans(posed)?)?|out(put)?features"), "nt"}};
  return std::ranges::any_of(parameters, [](const simt::Parameter& parameter) {
    const bool rows = in_lower_case(parameter.name) == "bt" && !has(parameter.type, "*");  // batch * time
    return !rows && !meaning_of(parameter.name, OF_LAYERS).empty();
  });
}

// ---- What their types are ----

enum class Type { size, scalar, matrix, stream, order };

bool is_tensor(const simt::Parameter& parameter) {
  return std::ranges::any_of(std::array{"torch :: Tensor", "at :: Tensor"}, [&](std::string_view tensor) {
    return parameter.type == tensor || parameter.type == fmt::format("const {}", tensor) ||
           parameter.type == fmt::format("const {} &", tensor);
  });
}

/// What Code::with_plain_types() makes of the type of a class of extents and a pointer: "matrix Name : rows memory".
constexpr std::string_view OF_CLASS = "matrix ";

bool has_extents(const simt::Parameter& parameter) { return is_tensor(parameter) || has(parameter.type, OF_CLASS); }

bool is_pointer(const simt::Parameter& parameter) { return has(parameter.type, "*"); }

bool is_input(const simt::Parameter& parameter) {
  return is_pointer(parameter) && parameter.type.find("const") < parameter.type.find('*');
}

std::optional<Type> type_of(const simt::Parameter& parameter) {
  const std::string& type = parameter.type;
  if (has(type, "cudaStream_t")) {
    return Type::stream;
  }
  if (has_extents(parameter)) {
    return Type::matrix;
  }
  const auto stars = std::count(type.begin(), type.end(), '*');
  if (has(type, "char") && !has(type, "unsigned") && stars == 0 && in_lower_case(parameter.name).starts_with("t")) {
    return Type::order;  // transa, tb, as in BLAS
  }
  const bool is_float = has(type, "float") && !has(type, "bfloat") && !has(type, "float2") && !has(type, "float4");
  if (is_float && stars == 1 && !has(type, "&")) {
    // A pointer of such a name is to a factor in the host's memory, as in BLAS. Others are to matrices.
    const std::string name = in_lower_case(parameter.name);
    return is_input(parameter) && (name == "alpha" || name == "beta") ? Type::scalar : Type::matrix;
  }
  if (stars > 0 || (has(type, "&") && !has(type, "const"))) {
    return std::nullopt;
  }
  if (is_float || has(type, "double")) {
    return Type::scalar;
  }
  const bool is_size = std::ranges::any_of(std::array{"int", "unsigned", "long", "size_t"}, [&](const char* word) {
    return has(type, word) && !has(type, "int2") && !has(type, "int4");
  });
  return is_size ? std::optional(Type::size) : std::nullopt;
}

// ---- From parameters to arguments ----

using Words = std::vector<std::string>;

bool contains(const Words& values, std::string_view value) { return std::ranges::find(values, value) != values.end(); }

/// What parameters of one type may stand for, most likely first; empty for nothing. One is certain.
struct Choices {
  std::vector<Words> all;
  bool certain = true;

  static Choices of(Words only) { return {{std::move(only)}, true}; }
};

/// Where names are those of M, N and K and the sum runs over another one than K, as files have it that say
/// "A is M x N, B is N x K": the others are rows and columns of C, in their order.
Words with_sum_over(const Words& names, const std::string& summed) {
  Words values;
  for (const std::string& name : names) {
    values.emplace_back(name == summed ? "K" : contains(values, "M") ? "N" : "M");
  }
  return values;
}

Choices sizes_of(const Words& names, const std::string& summed, bool is_kernel) {
  Words values;
  std::ranges::transform(names, std::back_inserter(values), size_of);
  if (names.size() == 1) {
    return Choices::of({"N"});
  }
  const bool twice = names.size() == 3 && (values[0] == values[1] || values[1] == values[2] || values[0] == values[2]);
  if (names.size() == 3 && !summed.empty()) {
    const bool letters = std::ranges::all_of(names, [](const std::string& name) { return name.size() == 1; });
    const auto at = static_cast<std::size_t>(std::ranges::find(names, summed) - names.begin());
    // The sum may as well run over the width of A.
    const bool either = letters || in_lower_case(summed).ends_with("width");
    if (contains(values, "") || twice || (either && values[at] != "K")) {
      return Choices::of(with_sum_over(names, summed));
    }
  }
  const Words lower = [&] {
    Words all;
    std::ranges::transform(names, std::back_inserter(all), in_lower_case);
    return all;
  }();
  if (contains(lower, "c") && contains(lower, "oc")) {  // channels, as in networks: M = batch * time
    for (std::size_t i = 0; i < lower.size(); ++i) {
      values[i] = lower[i] == "c" ? "K" : lower[i] == "b" ? "1" : lower[i] == "t" ? "M" : values[i];
    }
    return {{values}, false};
  }
  for (std::size_t i = 0; i < lower.size(); ++i) {  // beside M, N and K the b of bmm() is no matrix
    values[i] = names.size() > 3 && values[i].empty() && (lower[i] == "b" || lower[i] == "bs") ? "batch" : values[i];
  }
  if (contains(values, "batch") && !contains(values, "M")) {  // of rows
    std::ranges::replace(values, std::string("batch"), std::string("M"));
  }
  if (!contains(values, "") && !twice) {
    const bool complete = contains(values, "N") && contains(values, "K") && (is_kernel || contains(values, "M"));
    return complete || names.empty() ? Choices{{values}, !contains(values, "16")} : Choices{};
  }
  const bool square_tiles = contains(values, "16");
  if (names.size() == 3 && !square_tiles) {
    return {{{"M", "N", "K"}, {"M", "K", "N"}}, false};
  }
  return names.size() == 6 && !square_tiles ? Choices{{{"M", "N", "K", "lda", "ldb", "ldc"}}, false} : Choices{};
}

Choices matrices_of(const std::vector<simt::Parameter>& parameters) {
  Words values;
  std::vector<std::size_t> outputs;
  for (const simt::Parameter& parameter : parameters) {
    if (!is_input(parameter)) {
      outputs.push_back(values.size());
    }
    values.push_back(matrix_of(parameter.name));
  }
  bool certain = true;
  std::size_t matrices = values.size();
  if (values.size() == 4 && std::ranges::count(values, "B") == 2) {  // W and b
    if (const auto b = std::ranges::find(parameters, "b", &simt::Parameter::name); b != parameters.end()) {
      values[static_cast<std::size_t>(b - parameters.begin())] = "nullptr";
    }
  }
  if (values.size() == 4 && contains(values, "nullptr")) {
    certain = false;  // a bias, which a product has none of
    matrices = 3;
  }
  if (matrices != 3) {
    return {};
  }
  if (contains(values, "A") && contains(values, "B") && contains(values, "C")) {
    return {{values}, certain};
  }
  if (values.size() != 3) {
    return {};
  }
  static const Meanings OF_BOOK{{std::regex("md?"), "A"}, {std::regex("nd?"), "B"}, {std::regex("pd?"), "C"}};
  Words of_book;  // P = M * N, as Kirk and Hwu have it
  for (const simt::Parameter& parameter : parameters) {
    of_book.push_back(meaning_of(parameter.name, OF_BOOK));
  }
  if (contains(of_book, "A") && contains(of_book, "B") && contains(of_book, "C")) {
    return Choices::of(of_book);
  }
  const auto named = std::ranges::find(values, "C");
  if (outputs.size() == 1 || (named != values.end() && std::ranges::count(values, "C") == 1)) {
    // One that is written beside two that are only read is C, whatever its name.
    const std::size_t c = outputs.size() == 1 ? outputs.front() : static_cast<std::size_t>(named - values.begin());
    Words by_order{"A", "B"};
    by_order.insert(by_order.begin() + static_cast<std::ptrdiff_t>(c), "C");
    if (outputs.size() != 1 && by_order.back() != "C" && in_lower_case(parameters[c].name) == "y") {
      return {{{"A", "B", "C"}, by_order}, false};  // x, y and z may be three letters in their order
    }
    return Choices::of(by_order);
  }
  return {{{"A", "B", "C"}, {"C", "A", "B"}}, false};
}

Choices factors_of(const Words& names) {
  Words values;
  for (const std::string& name : names) {
    const std::string lower = in_lower_case(name);
    values.emplace_back(lower == "alpha" || lower == "beta" ? lower : "");
  }
  if (names.size() == 2 && (contains(values, "") || values[0] == values[1])) {
    values = {"alpha", "beta"};
  }
  return contains(values, "") ? Choices{} : Choices::of(values);
}

/// The argument for a parameter that stands for `name` of the problem.
std::string argument_for(const simt::Parameter& parameter, const std::string& name) {
  const std::string_view rows = name == "B" ? "K" : "M";
  const std::string_view columns = name == "A" ? "K" : "N";
  if (is_tensor(parameter)) {
    return fmt::format("torch::from_blob({}, {{{}, {}}})", name, rows, columns);
  }
  if (const std::size_t of_class = parameter.type.find(OF_CLASS); of_class != std::string::npos) {
    const std::vector<std::string_view> words = split(std::string_view(parameter.type).substr(of_class), ' ');
    Words members;
    for (const std::string_view word : std::span(words).subspan(3)) {
      members.emplace_back(word == "rows"      ? rows
                           : word == "columns" ? columns
                           : word == "ld"      ? "ld" + in_lower_case(name)
                                               : name);
    }
    return fmt::format("{}{{{}}}", words[1], fmt::join(members, ", "));
  }
  return is_pointer(parameter) && (name == "alpha" || name == "beta") ? "&" + name : name;
}

/// The function with `float` for the type that it is a template over; the function itself where it is no such template.
simt::Function in_single_precision(simt::Function function) {
  if (function.template_parameters.size() != 1) {
    return function;
  }
  const simt::Parameter element = function.template_parameters.front();
  const auto is_of_it = [&](const simt::Parameter& parameter) {
    return std::ranges::count(split(parameter.type, ' '), element.name) > 0;
  };
  if ((element.type != "typename" && element.type != "class") || std::ranges::none_of(function.parameters, is_of_it)) {
    return function;
  }
  for (simt::Parameter& parameter : function.parameters) {
    std::vector<std::string_view> words = split(parameter.type, ' ');
    std::replace(words.begin(), words.end(), std::string_view(element.name), std::string_view("float"));
    parameter.type = fmt::format("{}", fmt::join(words, " "));
  }
  function.template_parameters.clear();
  function.name += "<float>";
  return function;
}

std::string base_name(const std::string& name) {
  const std::size_t colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

bool is_called(const simt::Function& function, const std::string& chosen) {
  return chosen.empty() || function.name == chosen || base_name(function.name) == chosen;
}

/// Whether `text` has `word` as a whole word.
bool has_word(const std::string& text, std::string_view word) { return simt::read_source(text).has_word(word); }

// ---- What a file launches ----

/// The first group of every match.
std::vector<std::string> all_matches(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
    found.push_back(at->str(1));
  }
  return found;
}

const std::regex WORD(R"((\b[A-Za-z_]\w*))");

/// Whether code has a launch, or the call of a library that launches where `libraries` count. `idle` are kernels that
/// take no memory: they warm something up.
bool launches_itself(const std::string& code, bool libraries, const std::set<std::string>& idle) {
  static const std::regex LAUNCH(R"((\w*)\s*<<<|\b(cuda|cu)(Launch|GraphLaunch))");
  static const std::regex LIBRARY(R"(\b(cublas|cutlass|cute|cub|thrust|cudnn)\w*\s*(::|\())");
  const Words launched = all_matches(code, LAUNCH);
  return std::ranges::any_of(launched, [&](const std::string& kernel) { return !idle.contains(kernel); }) ||
         (libraries && std::regex_search(code, LIBRARY));
}

/// A file's text, for questions about what its functions do.
class Code {
 public:
  explicit Code(const simt::Source& source) : functions_(source.functions), text_(source.code) {
    // Beside a kernel, what calls a library is what the kernel is compared with.
    const bool libraries = std::ranges::none_of(functions_, &simt::Function::is_kernel);
    std::set<std::string> idle;
    for (const simt::Function& function : functions_) {
      const bool numbers_alone = std::ranges::all_of(function.parameters, [](const simt::Parameter& parameter) {
        const std::optional<Type> type = type_of(parameter);
        return type == Type::size || (type == Type::scalar && !is_pointer(parameter));
      });
      if (function.is_kernel && numbers_alone) {
        idle.insert(base_name(function.name));
      }
    }
    std::string rest = text_;
    for (const simt::Function& function : functions_) {
      const std::string body = body_of(function);
      if (launches_itself(body, libraries, idle)) {
        launching_.insert(base_name(function.name));
      }
      std::fill_n(rest.begin() + static_cast<std::ptrdiff_t>(function.begin), body.size(), ' ');
    }
    const Words at_file_scope = all_matches(rest, std::regex(R"(\b(\w+)\s*=[^=])"));
    constants_.insert(at_file_scope.begin(), at_file_scope.end());
    if (launches_itself(rest, libraries, idle)) {  // members of a class: any class may be the one
      for (const std::string& name : all_matches(rest, std::regex(R"(\b(?:struct|class)\s+(\w+))"))) {
        launching_.insert(name);
      }
    }
    for (std::size_t known = 0; known != launching_.size();) {
      known = launching_.size();
      for (const simt::Function& function : functions_) {
        if (!function.is_kernel && std::ranges::any_of(all_matches(body_of(function), WORD),
                                                       [&](const auto& word) { return launching_.contains(word); })) {
          launching_.insert(base_name(function.name));
        }
      }
    }
  }

  /// Whether it makes a tensor for its result.
  bool returns_tensor(const simt::Function& function) const {
    static const std::regex RESULT(R"(^\s*(static\s+|inline\s+)*(torch|at)\s*::\s*Tensor\s+\w+\s*\()");
    return std::regex_search(body_of(function), RESULT);
  }

  bool launches(const simt::Function& function) const { return launching_.contains(base_name(function.name)); }

  /// The grid and the block of a kernel that computes an element a thread, or with question marks those of another.
  std::string configuration_of(const simt::Function& kernel) const {
    const std::string body = body_of(kernel);
    const auto asks_for = [&](const std::string& pattern) { return std::regex_search(body, std::regex(pattern)); };
    if (asks_for(R"(blockDim\s*\.\s*x)") && !asks_for(R"((threadIdx|blockIdx)\s*\.\s*y)")) {
      return "ceil_div(M * N, 256), 256";
    }
    Words sides;
    for (const char* const axis : {"x", "y"}) {
      std::smatch side;
      const std::regex tile(fmt::format(R"(blockIdx\s*\.\s*{0}\s*\*\s*(\w+)\s*\+\s*threadIdx\s*\.\s*{0})", axis));
      const bool found = std::regex_search(body, side, tile);
      const std::string name = found ? side.str(1) : "";
      sides.push_back(found && (std::isdigit(name.front()) != 0 || constants_.contains(name)) ? name : "32");
    }
    if (asks_for("blockIdx") && !asks_for(R"(blockDim\s*\.\s*y)") && kernel.template_parameters.size() != 1 &&
        sides == Words{"32", "32"}) {
      return "?grid, ?block";
    }
    return fmt::format("dim3(ceil_div(N, {0}), ceil_div(M, {1})), dim3({0}, {1})", sides[0], sides[1]);
  }

  /// The parameter over which the function's product is summed: the only one that bounds a loop of the kernel that it
  /// launches, or the only one that its grid does not depend on. Empty where that does not tell.
  std::string summed_extent(const simt::Function& function) const {
    Words names;
    for (const simt::Parameter& parameter : function.parameters) {
      if (type_of(parameter) == Type::size) {
        names.push_back(parameter.name);
      }
    }
    const std::string body = body_of(function);
    const simt::Function* kernel = function.is_kernel ? &function : nullptr;
    Words arguments = names_of(function);
    static const std::regex LAUNCH(R"((\w+)\s*(?:<[^<>;]*>)?\s*<<<[^;]*?>>>\s*\(([^;]*)\)\s*;)");
    if (std::smatch launch; !function.is_kernel && std::regex_search(body, launch, LAUNCH)) {
      const auto found = std::ranges::find_if(functions_, [&](const simt::Function& other) {
        return other.is_kernel && base_name(other.name) == launch.str(1);
      });
      kernel = found == functions_.end() ? nullptr : &*found;
      arguments = simt::split_arguments(launch.str(2));
    }
    std::set<std::string> by_loop;
    if (kernel != nullptr && arguments.size() == kernel->parameters.size()) {
      const std::string code = body_of(*kernel);
      static const std::regex BOUND(R"(\bfor\s*\([^;]*;([^;]*);)");
      for (const std::string& bound : all_matches(code, BOUND)) {
        for (const std::string& word : all_matches(bound, WORD)) {
          const Words own = names_of(*kernel);
          const auto at = std::ranges::find(own, word);
          if (at != own.end() && contains(names, arguments[static_cast<std::size_t>(at - own.begin())])) {
            by_loop.insert(arguments[static_cast<std::size_t>(at - own.begin())]);
          }
        }
      }
    }
    std::set<std::string> outside_of_grid(names.begin(), names.end());
    for (const std::string& grid : all_matches(body, std::regex(R"(\bdim3([^;]*);)"))) {
      for (const std::string& word : all_matches(grid, WORD)) {
        outside_of_grid.erase(word);
      }
    }
    return by_loop.size() == 1 ? *by_loop.begin() : outside_of_grid.size() == 1 ? *outside_of_grid.begin() : "";
  }

  /// The kernel with its template arguments and its configuration, as the file's own launch of it has them, in words of
  /// a launch line; nothing where the file has no such launch, or one that depends on more than the problem's extents.
  Words own_launch(const simt::Function& kernel) const {
    const std::regex launch(fmt::format(R"(\b({}\s*(?:<[^<>;]*>)?)\s*<<<([^;]*?)>>>)", base_name(kernel.name)));
    for (const simt::Function& function : functions_) {
      const std::string body = body_of(function);
      std::smatch match;
      if (function.is_kernel || !std::regex_search(body, match, launch)) {
        continue;
      }
      Words parts = simt::split_arguments(match.str(2));
      parts.insert(parts.begin(), match.str(1));
      std::map<std::string, std::string> extents;
      if (const Readings readings = readings_of(with_plain_types(function), summed_extent(function));
          !readings.all.empty()) {
        for (std::size_t i = 0; i < function.parameters.size(); ++i) {
          extents[function.parameters[i].name] = readings.all.front().values[i];
        }
      }
      for (std::string& part : parts) {
        part = in_words_of_problem(part, body.substr(body.find('{')), extents);
      }
      static const std::regex OF_C(R"(\b[MN]\b)");
      return contains(parts, "") || parts.size() < 3 || !std::regex_search(parts[1], OF_C) ? Words() : parts;
    }
    return {};
  }

  /// The function with its types as aliases of the file have them.
  simt::Function with_plain_types(simt::Function function) const {
    static const std::regex ALIAS(R"(\busing\s+(\w+)\s*=\s*((?:float|int|unsigned|long|size_t|u?int\d+_t)\b[\w ]*);)"
                                  R"(|\btypedef\s+((?:float|int|unsigned|long|size_t)\b[\w ]*?)\s+(\w+)\s*;)");
    std::map<std::string, std::string> types;
    for (std::sregex_iterator at(text_.begin(), text_.end(), ALIAS), end; at != end; ++at) {
      types[at->str(1) + at->str(4)] = at->str(2) + at->str(3);
    }
    static const std::regex CLASS(R"(\bstruct\s*(\w*)\s*\{([^{}()]*)\}\s*(\w*))");
    for (std::sregex_iterator at(text_.begin(), text_.end(), CLASS), end; at != end; ++at) {
      const std::string name = at->str(1).empty() ? at->str(3) : at->str(1);
      if (const std::string members = members_of_matrix(at->str(2)); !members.empty()) {
        types[name] = fmt::format("{}{} :{}", OF_CLASS, name, members);
      }
    }
    for (simt::Parameter& parameter : function.parameters) {
      Words words;
      for (const std::string_view word : split(parameter.type, ' ')) {
        const auto type = types.find(std::string(word));
        words.push_back(type == types.end() ? std::string(word) : type->second);
      }
      parameter.type = fmt::format("{}", fmt::join(words, " "));
    }
    return function;
  }

 private:
  /// " rows columns memory" of "int height, width; float* data;"; empty where the class has anything else.
  static std::string members_of_matrix(const std::string& declarations) {
    static const Meanings MEANINGS{{std::regex("rows?|height|h|m"), "rows"},
                                   {std::regex("col(umn)?s?|width|w|n"), "columns"},
                                   {std::regex("(row)?stride|ld|pitch|lda"), "ld"}};
    static const std::regex DECLARED(R"(\s*(int|unsigned(?: int)?|size_t|float)\b([^;]*);)");
    std::string members;
    std::size_t pointers = 0;
    std::string rest = declarations;
    for (std::smatch match; std::regex_search(rest, match, DECLARED, std::regex_constants::match_continuous);
         rest = match.suffix()) {
      for (const std::string& name : simt::split_arguments(match.str(2))) {
        const bool memory = match.str(1) == "float" && std::ranges::count(name, '*') == 1;
        const std::string meaning = memory ? "memory" : match.str(1) == "float" ? "" : meaning_of(name, MEANINGS);
        if (meaning.empty()) {
          return "";
        }
        pointers += memory ? 1 : 0;
        members += " " + meaning;
      }
    }
    return pointers == 1 && simt::trimmed(rest).empty() && has(members, "rows") && has(members, "columns") ? members
                                                                                                           : "";
  }

  static Words names_of(const simt::Function& function) {
    Words names;
    std::ranges::transform(function.parameters, std::back_inserter(names), &simt::Parameter::name);
    return names;
  }

  /// The expression of a function's body with extents by their names in launch lines, and its locals by what they are
  /// made of; empty where that does not go.
  std::string in_words_of_problem(const std::string& expression, const std::string& body,
                                  const std::map<std::string, std::string>& extents, int depth = 4) const {
    static const std::set<std::string> KNOWN{"dim3",  "int",      "unsigned", "uint",  "size_t",     "sizeof",
                                             "float", "ceil_div", "stream",   "ceil",  "min",        "max",
                                             "true",  "false",    "std",      "ceilf", "static_cast"};
    std::string result;
    std::string rest = expression;
    for (std::smatch match; std::regex_search(rest, match, WORD); rest = match.suffix()) {
      const std::string word = match.str();
      const auto known = extents.find(word);
      const std::string extent = known != extents.end() ? known->second : size_of(word);
      const bool is_member = match.prefix().str().ends_with('.');
      std::string value = is_member || KNOWN.contains(word) || constants_.contains(word) ||
                                  std::ranges::find(functions_, word, &simt::Function::name) != functions_.end()
                              ? word
                          : extent.size() == 1 ? extent
                                               : "";
      if (value.empty() && depth > 0) {
        value = in_words_of_problem(local_of(word, body), body, extents, depth - 1);
      }
      if (value.empty()) {
        return "";
      }
      result += match.prefix().str() + value;
    }
    return result + rest;
  }

  /// What a local variable is declared to be, as an expression; empty where no declaration was found.
  static std::string local_of(const std::string& name, const std::string& body) {
    static const std::regex DECLARATION(
        R"(\b(dim3|int|uint|unsigned(?:\s+int)?|bool|auto|size_t)(?:\s+const)?\s+([^;]*);)");
    for (std::sregex_iterator at(body.begin(), body.end(), DECLARATION), end; at != end; ++at) {
      for (const std::string& part : simt::split_arguments(at->str(2))) {
        std::string rest = part.starts_with(name) ? simt::trimmed(std::string_view(part).substr(name.size())) : "";
        const bool assigned = rest.starts_with('=');
        rest = assigned ? simt::trimmed(std::string_view(rest).substr(1)) : rest;
        if (rest.starts_with('{') || (!assigned && rest.starts_with('('))) {
          return at->str(1) == "dim3" ? "dim3" + rest : "(" + rest.substr(1, rest.size() - 2) + ")";
        }
        if (assigned) {
          static const std::regex PLAIN(R"([\w.]+)");
          return std::regex_match(rest, PLAIN) ? rest : "(" + rest + ")";
        }
      }
    }
    return "";
  }

  std::string body_of(const simt::Function& function) const {
    return text_.substr(function.begin, function.end - function.begin);
  }

  const std::vector<simt::Function> functions_;
  const std::string text_;
  std::set<std::string> launching_;  ///< functions, macros and classes
  std::set<std::string> constants_;  ///< and other variables outside of functions
};

// ---- What is proposed ----

/// The command line of the run with this launch, for operands that lie in memory as `ops` says, "" for plain ones, and
/// for what the launch requires, "" for nothing.
std::string command_with(const LaunchOptions& options, const std::string& launch, const std::string& ops,
                         const std::string& requirement) {
  Words words;
  bool sized = ops.empty();
  for (const std::string& word : options.command) {
    const bool is_value = !words.empty() && words.back() == "--sizes";
    if (!sized && (is_value || word.starts_with("--sizes="))) {
      sized = true;
      words.push_back(has(word, ":" + ops) ? word : std::regex_replace(word, std::regex(",|$"), ":" + ops + "$&"));
    } else {
      words.push_back(word);
    }
  }
  if (!sized) {
    words.insert(words.end(), {"--sizes", "256:" + ops});
  }
  std::string line;
  for (const std::string& word : words) {
    line += quoted(word) + " ";
  }
  line += fmt::format("--launch {}", quoted(launch));
  return requirement.empty() || options.requirement ? line : fmt::format("{} --requires {}", line, quoted(requirement));
}

/// A launch to start from: the file's own, or a thread for each element of C. What it can not fill in begins with a
/// question mark.
struct Start {
  std::string statement;
  std::string requirement;  ///< or nothing
  std::string ops;          ///< as in Reading
};

Start launch_to_start_from(const simt::Function& kernel, const Code& code) {
  const simt::Function instance = in_single_precision(code.with_plain_types(kernel));
  std::string name = instance.name;
  if (instance.needs_template_arguments()) {
    Words values;
    for (const simt::Parameter& parameter : kernel.template_parameters) {
      values.push_back(parameter.type == "typename" || parameter.type == "class" ? "float"
                       : kernel.template_parameters.size() == 1                  ? "32"
                                                                                 : "?" + parameter.name);
    }
    name += fmt::format("<{}>", fmt::join(values, ", "));
  }
  Words values;
  Start start;
  if (const Readings readings = readings_of(instance, code.summed_extent(instance)); !readings.all.empty()) {
    values = readings.all.front().values;
    start.requirement = readings.all.front().requirement;
    start.ops = readings.all.front().ops;
  } else {
    for (const simt::Parameter& parameter : instance.parameters) {
      const std::optional<Type> type = type_of(parameter);
      const std::string value = type == Type::size     ? size_of(parameter.name)
                                : type == Type::matrix ? matrix_of(parameter.name)
                                : type == Type::scalar ? in_lower_case(parameter.name)
                                                       : "";
      const std::string matrix = has(parameter.type, "float4 *") ? matrix_of(parameter.name) : "";
      values.push_back(!matrix.empty() ? fmt::format("({}){}", parameter.type, matrix)
                       : value.empty() ? "?" + parameter.name
                                       : value);
    }
  }
  std::string configuration = code.configuration_of(kernel);
  if (const Words own = code.own_launch(kernel); !own.empty()) {
    name = own.front();
    configuration = fmt::format("{}", fmt::join(own.begin() + 1, own.end(), ", "));
  }
  start.statement = fmt::format("{}<<<{}>>>({})", name, configuration, fmt::join(values, ", "));
  return start;
}

[[noreturn]] void reject(const simt::Source& source, const std::string& path, const std::string& why, const Code& code,
                         const LaunchOptions& options) {
  std::string details;
  const simt::Function* kernel = nullptr;
  for (const simt::Function& function : source.functions) {
    details += fmt::format("  {}:{}: {}{}\n", path, function.line, function.is_kernel ? "__global__ " : "",
                           function.signature());
    if (function.is_kernel && (kernel == nullptr || kernel->parameters.size() < function.parameters.size())) {
      kernel = &function;
    }
  }
  if (!details.empty()) {
    details = "The file has:\n" + details;
  }
  if (kernel != nullptr) {
    const Start launch = launch_to_start_from(*kernel, code);
    details += fmt::format(
        "A line to start from; in the file, the launch may stand in a comment that begins with \"launch:\":\n  {}\n"
        "Its names: {}; grid and block are those of the kernel{}.\n",
        command_with(options, launch.statement, launch.ops, launch.requirement), NAMES_OF_PROBLEM,
        has(launch.statement, "?") ? ", and what begins with ? has to be filled in" : "");
  }
  throw UsageError(fmt::format("{}: {}", path, why), details);
}

/// A host function that computes a product. One that returns it has one more parameter here, for the result.
struct Callable {
  simt::Function function;
  Readings readings;
  bool returns = false;

  std::string call(const Reading& reading) const {
    const Words arguments(reading.values.begin(), reading.values.end() - (returns ? 1 : 0));
    const std::string made = fmt::format("{}({})", function.name, fmt::join(arguments, ", "));
    return returns ? fmt::format("{}.copy_({})", reading.values.back(), made) : made;
  }
};

/// Where names do not say which argument is which: the calls that are possible.
[[noreturn]] void ask(const Callable& callable, const std::string& path, const LaunchOptions& options) {
  const auto& [function, readings, returns] = callable;
  std::string lines = fmt::format("  {}:{}: {}\nChoose what it means:\n", path, function.line, function.signature());
  for (const Reading& reading : readings.all) {
    lines += fmt::format("  {}\n", command_with(options, callable.call(reading), reading.ops, reading.requirement));
  }
  throw UsageError(fmt::format("{}: it is not certain what the parameters of {} mean", path, function.name), lines);
}

/// Where several functions compute the product: the command line of each.
[[noreturn]] void choose(const std::vector<Callable>& callable, const std::string& path, const LaunchOptions& options) {
  std::string lines;
  for (const Callable& one : callable) {
    Words words;
    for (const std::string& word : options.command) {
      const std::size_t at = (words.empty() || words.back() == "--kernel" ? word : "").find(path);
      words.push_back(at == std::string::npos ? word
                                              : std::string(word).insert(at + path.size(), ":" + one.function.name));
    }
    std::ranges::transform(words, words.begin(), quoted);
    lines += fmt::format("  {}\n", fmt::join(words, " "));
  }
  throw UsageError(fmt::format("{}: {} of its functions could compute the product: choose one", path, callable.size()),
                   lines);
}

std::optional<PlacedText> requirement_of(const simt::Source& source, const std::string& path,
                                         const LaunchOptions& options, const std::string& implied) {
  std::optional<PlacedText> requirement;
  if (options.requirement) {
    requirement = {*options.requirement, "--requires", 1};
  } else if (const std::vector<simt::Comment> own = source.directives("requires"); !own.empty()) {
    requirement = {own.front().text, path, own.front().line};
  }
  if (implied.empty()) {
    return requirement;
  }
  if (!requirement) {
    return PlacedText{implied, path, 1};
  }
  requirement->text = fmt::format("{} && ({})", implied, requirement->text);
  return requirement;
}

/// The file's launch lines for the kernel `chosen`; all where that is empty.
std::vector<simt::Comment> launch_lines(const simt::Source& source, const std::string& chosen) {
  std::vector<simt::Comment> launches;
  for (simt::Comment& launch : source.directives("launch")) {
    if (chosen.empty() || has_word(launch.text, base_name(chosen))) {
      launches.push_back(std::move(launch));
    }
  }
  return launches;
}

/// The host functions that compute a product and launch something; those called `chosen` where it is not empty, whether
/// they launch or not.
std::vector<Callable> callable_functions(const simt::Source& source, const Code& code, const std::string& chosen) {
  std::vector<Callable> callable;
  for (const simt::Function& function : source.functions) {
    if (function.is_kernel || !is_called(function, chosen) || (chosen.empty() && !code.launches(function))) {
      continue;
    }
    simt::Function instance = in_single_precision(code.with_plain_types(function));
    const bool returns = code.returns_tensor(function);
    if (returns) {
      instance.parameters.push_back({"torch :: Tensor", "result"});
    }
    Readings readings =
        instance.needs_template_arguments() ? Readings{} : readings_of(instance, code.summed_extent(instance));
    if (!readings.all.empty()) {
      callable.push_back({std::move(instance), std::move(readings), returns});
    }
  }
  if (!std::ranges::all_of(callable, &Callable::returns)) {  // what returns a tensor calls one that takes it
    std::erase_if(callable, [](const Callable& one) { return one.returns; });
  }
  return callable;
}

PlacedText statement_of(std::string text, const std::string& file, int line) {
  while (text.ends_with(';')) {
    text.pop_back();
  }
  return {text + ";", file, line};
}

/// The bytes of the workspace that `statement` names, or nothing where it names none.
std::optional<PlacedText> workspace_of(const simt::Source& source, const std::string& path, const PlacedText& statement,
                                       const LaunchOptions& options) {
  if (!has_word(statement.text, "workspace")) {
    return std::nullopt;
  }
  if (options.workspace) {
    return PlacedText{*options.workspace, "--workspace", 1};
  }
  const std::vector<simt::Comment> workspaces = source.directives("workspace");
  if (workspaces.empty()) {
    throw UsageError(
        fmt::format("{}: the launch names workspace, and nothing says how many bytes it has: add a comment "
                    "\"// workspace: 4 * M * N\" to the file, or give --workspace '4 * M * N'",
                    path));
  }
  return PlacedText{workspaces.front().text, path, workspaces.front().line};
}

/// Why there is no function to call.
std::string why_not_callable(const simt::Source& source, const Code& code, const std::string& chosen) {
  const auto kernels = std::ranges::count_if(source.functions, &simt::Function::is_kernel);
  const auto idle = std::ranges::find_if(source.functions, [&](const simt::Function& function) {
    return chosen.empty() && !callable_functions(source, code, function.name).empty();
  });
  const auto has_any = [&](const auto& of_function) { return std::ranges::any_of(source.functions, of_function); };
  const auto is_other_pointer = [](const simt::Parameter& parameter) {
    return is_pointer(parameter) && type_of(parameter) != Type::matrix && !has(parameter.type, "float (") &&
           !has(parameter.type, "float4");
  };
  const bool of_other_types = has_any([&](const simt::Function& function) {
    const std::vector<simt::Parameter> parameters = in_single_precision(code.with_plain_types(function)).parameters;
    return function.is_kernel && std::ranges::count_if(parameters, is_other_pointer) >= 2;
  });
  const std::string passed_over =
      idle != source.functions.end() ? fmt::format("; its function {} launches nothing of it", idle->name)
      : of_other_types
          ? "; its matrices are no float*, and products are of FP32: a host function may round them, and --data "
            "integers has operands that need no rounding"
          : "";
  return (kernels == 0  ? "there is no kernel in it: no __global__ function, and no host function that launches one"
          : kernels > 1 ? "it is not known how to launch its kernels"
                        : "it is not known how to launch its kernel") +
         passed_over;
}

UserLaunch launch_and_requirement(const simt::Source& source, const Code& code, const std::string& path,
                                  const std::string& chosen, const LaunchOptions& options) {
  const auto refuse = [&](const std::string& why) { reject(source, path, why, code, options); };
  if (!chosen.empty() && std::ranges::none_of(source.functions, [&](const simt::Function& function) {
        return is_called(function, chosen);
      })) {
    refuse(fmt::format("there is no function '{}' in it", chosen));
  }
  const auto as_written = [&](const PlacedText& statement) {
    static const std::regex LEFT_OPEN(R"([<(,]\s*(\?\w+))");
    for (const std::string& open : all_matches(statement.text, LEFT_OPEN)) {
      refuse(fmt::format("{} in the launch line has to be filled in", open));
    }
    static const std::regex CALL(R"((?:^|;)\s*(\w+)\s*(?:<[^<>;]*>)?\s*\()");
    for (const std::string& called : all_matches(statement.text, CALL)) {
      const auto is_there = [&](bool kernel) {
        return std::ranges::any_of(source.functions, [&](const simt::Function& function) {
          return function.is_kernel == kernel && base_name(function.name) == called;
        });
      };
      if (is_there(true) && !is_there(false)) {
        refuse(
            fmt::format("{} is a kernel, and a launch line launches it as {}<<<grid, block>>>(...)", called, called));
      }
    }
    return UserLaunch{statement, requirement_of(source, path, options, ""), {}, true, {}};
  };
  if (options.launch) {
    return as_written(statement_of(*options.launch, "--launch", 1));
  }
  const std::vector<simt::Comment> launches = launch_lines(source, chosen);
  if (launches.size() > 1) {
    refuse(fmt::format("it has {} launch lines: choose a kernel of it, {}:NAME", launches.size(), path));
  }
  if (launches.size() == 1) {
    return as_written(statement_of(launches.front().text, path, launches.front().line));
  }
  const std::vector<Callable> callable = callable_functions(source, code, chosen);
  if (callable.size() > 1) {
    choose(callable, path, options);
  }
  if (callable.empty()) {
    refuse(why_not_callable(source, code, chosen));
  }
  const Callable& chosen_one = callable.front();
  const Readings& readings = chosen_one.readings;
  if (!readings.certain) {
    ask(chosen_one, path, options);
  }
  const auto called = [&](const Reading& reading) {
    return UserLaunch{statement_of(chosen_one.call(reading), path, chosen_one.function.line),
                      requirement_of(source, path, options, reading.requirement),
                      {},
                      false,
                      {}};
  };
  UserLaunch launch = called(readings.all.front());
  std::transform(readings.all.begin() + 1, readings.all.end(), std::back_inserter(launch.others), called);
  return launch;
}

/// The functions and comments of one file alone.
simt::Source part_of(simt::Source source, const std::string& path) {
  const auto is_other = [&](const auto& part) { return !part.file.empty() && part.file != path; };
  std::erase_if(source.functions, is_other);
  std::erase_if(source.comments, is_other);
  return source;
}

/// The same call with each of these pairs of names swapped.
Reading with_swapped(Reading reading, const std::vector<std::pair<std::string, std::string>>& pairs) {
  for (std::string& value : reading.values) {
    for (const auto& [one, other] : pairs) {
      value = value == one ? other : value == other ? one : value;
    }
  }
  return reading;
}

/// Readings of a call for matrices in other orders.
void add_other_orders(std::vector<Reading>& all, bool any_sum) {
  const Reading first = all.front();
  all.push_back(with_swapped(first, {{"M", "N"}}));                              // C is N x M
  all.push_back(with_swapped(first, {{"M", "N"}, {"A", "B"}, {"lda", "ldb"}}));  // columns: C^T = B^T A^T
  if (any_sum) {
    all.push_back(with_swapped(first, {{"N", "K"}}));
  }
}

/// What a function can not do that has no more sizes and factors than these.
std::string requirement_without(const Words& sizes, const Words& factors) {
  Words conditions;
  if (sizes.size() == 1) {
    conditions.emplace_back("M == N && N == K");
  }
  for (const auto& [factor, condition] : {std::pair{"alpha", "alpha == 1"}, std::pair{"beta", "beta == 0"}}) {
    if (!contains(factors, factor)) {
      conditions.emplace_back(condition);
    }
  }
  return fmt::format("{}", fmt::join(conditions, " && "));
}

}  // namespace

std::string quoted(const std::string& word) {
  const bool plain =
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%") ==
      std::string::npos;
  return plain && !word.empty() ? word : fmt::format("'{}'", std::regex_replace(word, std::regex("'"), "'\\''"));
}

bool UserLaunch::uses_leading_dimensions() const {
  return std::ranges::any_of(std::array{"lda", "ldb", "ldc"},
                             [this](const char* name) { return has_word(statement.text, name); });
}

bool UserLaunch::takes_batches() const { return has_word(statement.text, "batch"); }

Readings readings_of(const simt::Function& function, const std::string& summed) {
  std::map<Type, std::vector<std::size_t>> places;
  std::vector<simt::Parameter> matrices;
  const auto names_at = [&](Type type) {
    Words names;
    for (const std::size_t place : places[type]) {
      names.push_back(function.parameters[place].name);
    }
    return names;
  };
  for (std::size_t i = 0; i < function.parameters.size(); ++i) {
    const std::optional<Type> type = type_of(function.parameters[i]);
    const bool factor_in_host_memory = type == Type::scalar && is_pointer(function.parameters[i]);
    if (!type || (function.is_kernel && factor_in_host_memory)) {
      return {};
    }
    places[*type].push_back(i);
    if (type == Type::matrix) {
      matrices.push_back(function.parameters[i]);
    }
  }
  const bool with_extents = std::ranges::all_of(matrices, has_extents);
  const Words sizes = names_at(Type::size);
  const Choices of_matrices = matrices_of(matrices);
  const Choices of_sizes = sizes.empty() && !with_extents ? Choices{} : sizes_of(sizes, summed, function.is_kernel);
  const Choices of_factors = factors_of(names_at(Type::scalar));
  if (of_factors.all.empty() || places[Type::stream].size() > 1) {
    return {};
  }
  const std::string requirement = requirement_without(sizes, of_factors.all.front());
  const bool transposed = is_transposed_by_names(function.parameters);
  Readings readings{{}, of_matrices.certain && of_sizes.certain && !transposed};
  for (const Words& chosen_matrices : of_matrices.all) {
    for (const Words& chosen_sizes : of_sizes.all) {
      Reading reading;
      reading.values.resize(function.parameters.size());
      const auto set = [&](Type type, const Words& values) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          const std::size_t place = places[type][i];
          reading.values[place] = argument_for(function.parameters[place], values[i]);
        }
      };
      set(Type::matrix, chosen_matrices);
      set(Type::size, chosen_sizes);
      set(Type::scalar, of_factors.all.front());
      set(Type::stream, Words(places[Type::stream].size(), "stream"));
      set(Type::order, Words(places[Type::order].size(), "'N'"));
      reading.requirement = requirement;
      reading.ops = transposed ? "nt" : "";
      readings.all.push_back(std::move(reading));
    }
  }
  if (readings.certain && readings.all.size() == 1 && sizes.size() >= 3 && !with_extents) {
    add_other_orders(readings.all, summed.empty());
  }
  return readings;
}

std::vector<std::string> launchable_functions(const simt::Source& all, const std::string& path) {
  const Code code(all);
  const simt::Source source = part_of(all, path);
  std::vector<std::string> names;
  for (const simt::Function& function : source.functions) {
    const bool can_be_launched =
        function.is_kernel ? !launch_lines(source, function.name).empty()
                           : code.launches(function) && !callable_functions(source, code, function.name).empty();
    if (can_be_launched && std::ranges::find(names, function.name) == names.end()) {
      names.push_back(function.name);
    }
  }
  return names;
}

UserLaunch find_launch(const simt::Source& all, const std::string& path, const std::string& chosen,
                       const LaunchOptions& options) {
  const simt::Source source = part_of(all, path);
  UserLaunch launch = launch_and_requirement(source, Code(all), path, chosen, options);
  launch.workspace = workspace_of(source, path, launch.statement, options);
  return launch;
}

}  // namespace sgemm
