#include "user/readings.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sgemm {
namespace {

// ---- What parameters are by their names and types ----

/// A row of the table of names: the groups of the pattern may stand in the meaning.
struct Row {
  Row(Names row_of, const std::string& row_pattern, std::string row_meaning)
      : of(row_of), pattern(row_pattern), meaning(std::move(row_meaning)) {}

  Names of;
  std::regex pattern;
  std::string meaning;
};

/// The first pattern that a whole name has tells its meaning. "K N M" of "rows of B" are as the matrices lie in
/// C = A * B.
const std::vector<Row>& table_of_names() {
  const auto of = [](const char* matrices, const char* extents) {
    return fmt::format("(num|n|nr|no)?(mat|matrix)?{0}{1}|(num|n|nr|no)?{1}(of|in)?(mat|matrix)?{0}", matrices,
                       extents);
  };
  constexpr const char* ROWS = "(rows?|height|h)";
  constexpr const char* COLUMNS = "(columns?|cols?|width|w)";
  using enum Names;
  static const std::vector<Row> TABLE{
      {sizes, "(dim|size|num)?m(dim|size)?|rows?|(num|n)rows|height|bt", "M"},
      {sizes, "(dim|size|num)?n(dim|size)?|cols?|columns?|(num|n)(cols|columns)|width", "N"},
      {sizes, "out(features|dim|size|channels)|oc", "N"},
      {sizes, "(dim|size|num)?k(dim|size)?|inner(dim)?|depth|common(dim)?|in(features|dim|channels)", "K"},
      {sizes, of("[ac]", ROWS), "M"},
      {sizes, of("[bc]", COLUMNS), "N"},
      {sizes, of("a", COLUMNS) + "|" + of("b", ROWS), "K"},
      {sizes, "ne(00|10)|ncolsx", "K"},  // of ggml: dst, in columns, of src0^T src1
      {sizes, "ne(01|0)|nrows(x|dst)", "M"},
      {sizes, "ne(11|1)|ncols(y|dst)", "N"},
      {sizes, "stride(?:(a)m|(b)k|(c)m)", "ld$1$2$3"},  // of Triton
      {sizes, "stride(ak|bn|cn)", "1"},
      {sizes, "(?:ld|stride|pitch|lead|leading)(?:dim)?([abc])|([abc])(?:ld|stride|pitch)", "ld$1$2"},
      {sizes, "batch(es|count|size)?|numbatch(es)?", "batch"},
      {sizes, ".*(block|tile|threads?).*", "16"},
      {matrices, "(d|dev|device|mat|matrix|gpu|in)?a|inp(ut)?|lhs|left|mat1|data1\\d*|x", "A"},
      {matrices, "(d|dev|device|mat|matrix|gpu|in)?b|weights?|rhs|right|mat2|data2\\d*|w", "B"},
      {matrices, "(d|dev|device|mat|matrix|gpu|out)?c|out(put)?|res(ult)?s?|dst|dest|ans(wer)?", "C"},
      {matrices, "prod(uct)?|data0\\d*|y", "C"},
      {matrices, "bias", "nullptr"},
      {matrices, "(work|scratch|tmp|temp|partials?|buf(fer)?)(space|sums?|c|buf(fer)?)?|ws", "workspace"},
      {of_book, "md?", "A"},
      {of_book, "nd?", "B"},
      {of_book, "pd?", "C"},
      {of_layers, "ne00|ncolsx", "tn"},
      {of_layers, "weights?|(b|w)t(rans(posed)?)?|out(put)?features", "nt"},
      {members, "rows?|height|h|m", "rows"},
      {members, "col(umn)?s?|width|w|n", "columns"},
      {members, "(row)?stride|ld|pitch|lda", "ld"},
  };
  return TABLE;
}

bool is_tensor(const simt::Parameter& parameter) {
  static const std::regex TENSOR("(const )?(torch|at) :: Tensor( const)?( &)?");
  return std::regex_match(parameter.type, TENSOR);
}

bool has_extents(const simt::Parameter& parameter) {
  return is_tensor(parameter) || parameter.type.ends_with(WITH_EXTENTS);
}

/// Of a member without its class, and without the end of a long one.
std::string lower_name(std::string_view name) {
  return in_lower_case(name.substr(name.rfind('.') + 1).substr(0, LONGEST_NAME));
}

/// "Matrix* a" of the member "Matrix* a.rows"; empty for no member.
std::string class_of(const simt::Parameter& parameter) {
  return parameter.name.substr(0, parameter.name.find('.') + 1);
}

/// A pointer to const.
bool is_input(const simt::Parameter& parameter) {
  return is_pointer(parameter) && parameter.type.find("const") < parameter.type.find('*');
}

}  // namespace

std::string meaning_of(std::string_view name, Names names) {
  // What stands before and behind a name for the memory that it is in.
  static const std::regex BEFORE("^(d|dev|device|h|host|gpu|mat|matrix|p|ptr|param|in(put)?|out(put)?|num|n)_");
  static const std::regex BEHIND("_(d|dev|device|gpu|ptr|mat|matrix|)$");
  const std::string whole = lower_name(name);
  const std::string plain = std::regex_replace(std::regex_replace(whole, BEFORE, ""), BEHIND, "");
  for (std::string form : {whole, plain}) {
    std::erase(form, '_');
    for (const Row& row : table_of_names()) {
      if (std::smatch match; row.of == names && std::regex_match(form, match, row.pattern)) {
        return match.format(row.meaning);
      }
    }
  }
  return "";
}

bool is_pointer(const simt::Parameter& parameter) { return has(parameter.type, "*"); }

std::optional<Type> type_of(const simt::Parameter& parameter) {
  const std::string& type = parameter.type;
  if (has(type, "cudaStream_t")) {
    return Type::stream;
  }
  if (has_extents(parameter)) {
    return Type::matrix;
  }
  if (type.starts_with(EXTENT_OF_MATRIX)) {
    return Type::extent;
  }
  const auto stars = std::count(type.begin(), type.end(), '*');
  const bool one_constant = stars == 1 && is_input(parameter);  // in the host's memory, as Fortran has it
  static const std::regex ORDER("t|t_?[abxy]|tran.*|op_?[ab]");
  const bool of_order = has(type, "bool") || has(type, "cublasOperation_t") ? stars == 0
                        : has(type, "char") && !has(type, "unsigned")       ? stars == 0 || one_constant
                                                                            : false;
  if (of_order && std::regex_match(lower_name(parameter.name), ORDER)) {
    return Type::order;
  }
  const bool is_float =
      has(type, "float") && !has(type, "<") && !has(type, "bfloat") && !has(type, "float2") && !has(type, "float4");
  if (is_float && stars == 1 && !has(type, "&")) {
    // A pointer of such a name is to a factor in the host's memory, as in BLAS. Others are to matrices.
    const std::string name = lower_name(parameter.name);
    return is_input(parameter) && (name == "alpha" || name == "beta") ? Type::scalar : Type::matrix;
  }
  if (one_constant && has(type, "int") && !meaning_of(parameter.name, Names::sizes).empty() && !has(type, "_t")) {
    return Type::size;
  }
  if (type.size() > LONGEST_NAME || stars > 0 || has(type, "<") || (has(type, "&") && !has(type, "const"))) {
    return std::nullopt;
  }
  if (is_float || has(type, "double")) {
    return Type::scalar;
  }
  static const std::regex SIZE("(?!.*int[1-4]\\b).*(int|unsigned|long|short|size_t).*");
  return std::regex_match(type, SIZE) ? std::optional(Type::size) : std::nullopt;
}

Words names_of(const simt::Function& function, std::optional<Type> type) {
  Words names;
  for (const simt::Parameter& parameter : function.parameters) {
    if (!type || type_of(parameter) == type) {
      names.push_back(parameter.name);
    }
  }
  return names;
}

// ---- From parameters to arguments ----

namespace {

/// What the function makes of every element.
template <class Elements, class Function>
Words each(const Elements& elements, Function function) {
  Words made;
  std::ranges::transform(elements, std::back_inserter(made), function);
  return made;
}

/// What parameters of one type may stand for, most likely first; empty for nothing. One is certain.
struct Choices {
  std::vector<Words> all;
  bool certain = true;

  static Choices of(Words only) { return {{std::move(only)}, true}; }
};

/// What distances of rows and of products are in elements and in bytes. Returns whether it is certain.
bool put_distances(Words& values, const Words& names, const std::vector<simt::Parameter>& parameters) {
  const Words lower = each(names, lower_name);
  bool certain = true;
  for (std::size_t i = 0; i < lower.size(); ++i) {
    const std::string& type = std::ranges::find(parameters, names[i], &simt::Parameter::name)->type;
    if (has(lower[i], "pitch") && values[i].starts_with("ld") && has(type, "size_t")) {
      // In bytes, as of cudaMallocPitch().
      values[i] += " * sizeof(float)";
      certain = false;
    }
    if (contains(values, "batch") && has(lower[i], "stride") && values[i].starts_with("ld")) {  // between products
      const bool padded = std::ranges::count(values, values[i]) > 1;
      certain = certain && (padded || has(type, "long") || has(type, "64") || has(type, "size_t"));
      values[i] = (values[i] == "ldb" ? "K * " : "M * ") + (padded ? values[i] : values[i] == "lda" ? "K" : "N");
    }
  }
  return certain;
}

Choices sizes_of(const Words& names, const std::string& summed, bool is_kernel,
                 const std::vector<simt::Parameter>& parameters) {
  Words values = each(names, [](const std::string& name) { return meaning_of(name, Names::sizes); });
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string at = values[i] == "1" ? lower_name(names[i]) : "";
    const std::string distance = at.empty() ? "" : "ld" + at.substr(at.find_first_of("abc", at.find("stride") + 6), 1);
    values[i] = at.empty() || contains(values, distance) ? values[i] : distance;  // the only one is that of lines
  }
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
      // Files have it that say "A is M x N, B is N x K": the others are rows and columns of C, in their order.
      bool rows = true;
      const Words by_sum = each(names, [&](const std::string& name) {
        return name == summed ? "K" : std::exchange(rows, false) ? "M" : "N";
      });
      return contains(values, "") || twice ? Choices::of(by_sum) : Choices{{by_sum, values}, true};
    }
  }
  const Words lower = each(names, lower_name);
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
  const Words by_rows = values;
  const bool certain = put_distances(values, names, parameters);
  if (!contains(values, "") && !twice) {
    const bool complete = contains(values, "N") && contains(values, "K") && (is_kernel || contains(values, "M"));
    return !complete && !names.empty() ? Choices{}
           : certain                   ? Choices{{values}, !contains(values, "16")}
                                       : Choices{{values, by_rows}, false};
  }
  const bool square_tiles = contains(values, "16");
  if (names.size() == 3 && !square_tiles) {
    return {{{"M", "N", "K"}, {"M", "K", "N"}}, false};
  }
  const bool distances = std::ranges::all_of(lower, [](const std::string& name) {  // of rows
    return !meaning_of(name, Names::sizes).empty() || name.size() == 1 || name.starts_with("ld");
  });
  const bool six = names.size() == 6 && (distances || std::ranges::all_of(values, &std::string::empty));
  return six && !square_tiles ? Choices{{{"M", "N", "K", "lda", "ldb", "ldc"}}, false} : Choices{};
}

/// Where each name says which matrix it is.
Choices named_matrices(const std::vector<simt::Parameter>& parameters, const Words& values, bool with_bias) {
  Words with_zeros = values;  // of a workspace, for a kernel that reads its bias always
  std::ranges::replace(with_zeros, std::string("nullptr"), std::string("(float*)workspace"));
  const auto b = std::ranges::find(values, "B");
  const bool w_first = b < std::ranges::find(values, "A") &&
                       in_lower_case(parameters[static_cast<std::size_t>(b - values.begin())].name) == "w";
  if (w_first && !with_bias) {  // Y = W X, where Y = X W names X first
    Words in_order = values;
    std::ranges::transform(values, in_order.begin(), [](const std::string& value) {
      return value == "A" ? "B" : value == "B" ? "A" : value;
    });
    return {{in_order, values}, false};
  }
  return with_bias ? Choices{{with_zeros, values}, false} : Choices::of(values);
}

Choices matrices_alone_of(const std::vector<simt::Parameter>& parameters) {
  const auto named_as = [&](Names names) {
    return each(parameters, [&](const simt::Parameter& parameter) { return meaning_of(parameter.name, names); });
  };
  Words values = named_as(Names::matrices);
  std::vector<std::size_t> outputs;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!is_input(parameters[i])) {
      outputs.push_back(i);
    }
  }
  if (outputs.size() == 1 && values[outputs.front()].empty()) {
    values[outputs.front()] = "C";
  }
  if (values == Words{"A", "B", "C", "C"}) {  // D = A * B + C
    return {{values}, false};
  }
  if (values.size() == 4 && std::ranges::count(values, "B") == 2) {  // W and b
    if (const auto b = std::ranges::find(parameters, "b", &simt::Parameter::name); b != parameters.end()) {
      values[static_cast<std::size_t>(b - parameters.begin())] = "nullptr";
    }
  }
  const bool with_bias = values.size() == 4 && contains(values, "nullptr");  // which a product has none of
  if (values.size() != 3 && !with_bias) {
    return {};
  }
  const auto are_all = [](const Words& words) {
    return contains(words, "A") && contains(words, "B") && contains(words, "C");
  };
  const bool c_is_read = outputs.size() == 1 && values[outputs.front()] != "C";  // A = B * C
  if (are_all(values) && !c_is_read) {
    return named_matrices(parameters, values, with_bias);
  }
  if (with_bias) {
    return {};
  }
  if (const Words of_book = named_as(Names::of_book); are_all(of_book)) {
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

/// Of matrices and perhaps a workspace.
Choices matrices_of(std::vector<simt::Parameter> parameters) {
  const auto own = std::ranges::find_if(parameters, [](const simt::Parameter& parameter) {
    return meaning_of(parameter.name, Names::matrices) == "workspace";
  });
  if (parameters.size() != 4 || own == parameters.end()) {
    return matrices_alone_of(parameters);
  }
  const auto at = own - parameters.begin();
  parameters.erase(own);
  Choices choices = matrices_alone_of(parameters);
  for (Words& choice : choices.all) {
    choice.insert(choice.begin() + at, "(float*)workspace");
  }
  choices.certain = false;
  return choices;
}

Choices factors_of(const Words& names) {
  Words values = each(names, lower_name);
  std::ranges::replace_if(
      values, [](const std::string& name) { return name != "alpha" && name != "beta"; }, "");
  if (names.size() == 2 && (contains(values, "") || values[0] == values[1])) {
    values = {"alpha", "beta"};
  }
  return contains(values, "") ? Choices{} : Choices::of(values);
}

/// The argument for a parameter that stands for `name` of the problem.
std::string argument_for(const simt::Parameter& parameter, const std::string& name, const Extents& extents,
                         bool of_kernel) {
  const std::string_view rows = name == "B" ? "K" : "M";
  const std::string_view columns = name == "A" ? "K" : "N";
  if (is_tensor(parameter)) {
    const bool by_reference = parameter.type.ends_with("Tensor &") && !has(parameter.type, "const");
    const bool turned = name == "A" ? extents.a_transposed : name == "B" && extents.b_transposed;
    return fmt::format("torch::from_blob({}, {{{}{}, {}}}){}", name,
                       extents.batched && !(extents.shared_b && name == "B") ? "batch, " : "", turned ? columns : rows,
                       turned ? rows : columns, by_reference ? ".detach_()" : "");
  }
  if (type_of(parameter) == Type::extent) {
    return parameter.type.ends_with("rows") ? std::string(rows)
           : parameter.type.ends_with("ld") && of_kernel
               ? "ld" + in_lower_case(name)
               : std::string(columns);  // the host copies it whole, without gaps
  }
  if (const std::size_t array = parameter.type.find("( * )"); array != std::string::npos) {  // float (*)[128]
    std::string type = std::regex_replace(parameter.type, std::regex(R"( \* )"), "*");
    type = std::regex_replace(type, std::regex(R"( ?\[ (.*?) \])"), "[$1]");
    return fmt::format("({}){}", type, name);
  }
  return !is_pointer(parameter) || type_of(parameter) == Type::matrix ? name
         : type_of(parameter) == Type::size                           ? fmt::format("&(const int&)int({})", name)
                                                                      : "&" + name;
}

/// What says that an operand is not transposed.
std::string plain_order(const simt::Parameter& parameter) {
  return has(parameter.type, "bool")                ? "false"
         : has(parameter.type, "cublasOperation_t") ? "CUBLAS_OP_N"
         : is_pointer(parameter)                    ? "\"N\""
                                                    : "'N'";
}

/// How operands lie by the names: "nt" where B lies transposed, as the weights of a layer of a network do; "tn" in
/// columns; or empty.
std::string layout_by_names(const std::vector<simt::Parameter>& parameters) {
  std::string layout;
  for (const simt::Parameter& parameter : parameters) {
    const bool rows = lower_name(parameter.name) == "bt" && !is_pointer(parameter);  // batch * time
    layout = rows || !layout.empty() ? layout : meaning_of(parameter.name, Names::of_layers);
  }
  return layout;
}

/// Problems that have the extents which a function has alone; empty where it has none of its own.
std::string sizes_with(const std::map<std::string, std::string>& fixed) {
  Words sizes;
  for (const char* const name : {"M", "N", "K"}) {
    sizes.push_back(fixed.contains(name) ? fixed.at(name) : "64");
  }
  return fixed.empty() ? "" : fmt::format("{}", fmt::join(sizes, "x"));
}

/// "A", "B" and "C" of a matrix times a vector, y = A x, by their names; empty where they do not say so.
Words matrix_and_vectors(const std::vector<simt::Parameter>& matrices) {
  static const std::regex VECTOR("(d_|h_)?(x|v|[Vv]ec\\w*|\\w*_?[Vv]ec(tor)?)");  // X would be a matrix
  const Words values = each(matrices, [](const simt::Parameter& matrix) {
    const bool written = meaning_of(matrix.name, Names::matrices) == "C" || matrix.name.ends_with("out");
    return written ? "C" : std::regex_match(matrix.name.substr(0, LONGEST_NAME), VECTOR) ? "B" : "A";
  });
  return std::set<std::string>(values.begin(), values.end()).size() == 3 && values.size() == 3 ? values : Words();
}

using Swaps = std::vector<std::pair<std::string, std::string>>;

/// What makes a call one for matrices in columns: C^T = B^T A^T.
const Swaps IN_COLUMNS{{"M", "N"}, {"A", "B"}, {"lda", "ldb"}, {"M * lda", "K * ldb"}, {"M * K", "K * N"}};

/// The same call with each of these pairs of names swapped.
Reading with_swapped(Reading reading, const Swaps& pairs) {
  static const std::regex LAST_NAME(R"((\w+ \* )?\w+(?=\)?$))");  // of "M", "M * lda" and "&(const int&)int(M)"
  for (std::string& value : reading.values) {
    std::smatch match;
    const std::string name = std::regex_search(value, match, LAST_NAME) ? match.str() : "";
    for (const auto& [one, other] : pairs) {
      if (name == one || name == other) {
        value.replace(static_cast<std::size_t>(match.position()), name.size(), name == one ? other : one);
        break;
      }
    }
  }
  return reading;
}

/// Readings of a call for matrices in other orders.
void add_other_orders(std::vector<Reading>& all, bool any_sum) {
  const Reading first = all.front();
  all.push_back(with_swapped(first, {{"M", "N"}}));  // C is N x M
  all.push_back(with_swapped(first, IN_COLUMNS));
  if (any_sum) {
    all.push_back(with_swapped(first, {{"N", "K"}}));
  }
}

/// What a function can not do that has no more sizes and factors than these. It may add to C.
std::string requirement_without(const Words& sizes, const Words& factors, const Extents& extents, bool adds) {
  Words conditions(extents.shared_b ? 1 : 0, "batch == 1");
  for (const char* const name : {"M", "N", "K"}) {
    if (extents.fixed.contains(name)) {
      conditions.push_back(fmt::format("{} == {}", name, extents.fixed.at(name)));
    }
  }
  if (sizes.size() == 1) {
    conditions.emplace_back("M == N && N == K");
  }
  for (const auto& [factor, condition] :
       {std::pair{"alpha", "alpha == 1"}, std::pair{"beta", adds ? "beta == 1" : "beta == 0"}}) {
    if (!contains(factors, factor)) {
      conditions.emplace_back(condition);
    }
  }
  return fmt::format("{}", fmt::join(conditions, " && "));
}

/// Those of all that matrices and sizes may stand for.
Readings readings_of(const simt::Function& function, const Choices& of_matrices, const Choices& of_sizes,
                     const Words& factors, const Extents& extents) {
  const std::string ops = fmt::format("{}{}", extents.a_transposed ? 't' : 'n', extents.b_transposed ? 't' : 'n');
  const Words sizes = names_of(function, Type::size);
  Readings readings{{}, of_matrices.certain && of_sizes.certain && ops == "nn"};
  for (const Words& chosen_matrices : of_matrices.all) {
    for (const Words& chosen_sizes : of_sizes.all) {
      const std::map<Type, Words> chosen{
          {Type::matrix, chosen_matrices}, {Type::size, chosen_sizes}, {Type::scalar, factors}};
      std::map<std::string, std::string> of_classes;  // matrices, by what stands before their members' names
      for (std::size_t i = 0, taken = 0; i < function.parameters.size(); ++i) {
        const simt::Parameter& parameter = function.parameters[i];
        if (type_of(parameter) == Type::matrix) {
          of_classes[class_of(parameter)] = chosen_matrices[taken++];
        }
      }
      std::map<Type, std::size_t> taken;
      const auto value_of = [&](const simt::Parameter& parameter) {
        const Type type = *type_of(parameter);
        return type == Type::stream  ? "stream"
               : type == Type::order ? plain_order(parameter)
               : type == Type::extent
                   ? argument_for(parameter, of_classes.at(class_of(parameter)), extents, function.is_kernel)
                   : argument_for(parameter, chosen.at(type)[taken[type]++], extents, function.is_kernel);
      };
      const bool adds = std::ranges::count(chosen_matrices, "C") > 1;
      readings.all.push_back({each(function.parameters, value_of), requirement_without(sizes, factors, extents, adds),
                              ops == "nn" ? "" : ops, sizes_with(extents.fixed)});
    }
  }
  return readings;
}

/// The layout that a name ends with, as that of gemm_nt.
std::string layout_in_name(const std::string& name) {
  static const std::regex LAYOUT("\\w_([nt][nt])$");
  std::smatch found;
  return std::regex_search(name, found, LAYOUT) ? found.str(1) : "";
}

}  // namespace

Readings readings_of(const simt::Function& function, const std::string& summed, const Extents& said) {
  std::vector<simt::Parameter> matrices;
  std::size_t streams = 0;
  std::size_t pointers_to_sizes = 0;
  bool arrays = false;  // whose rows may be longer than those of the problem
  for (const simt::Parameter& parameter : function.parameters) {
    const std::optional<Type> type = type_of(parameter);
    const bool on_host = type != Type::matrix || is_tensor(parameter);
    if (!type || (function.is_kernel && on_host && is_pointer(parameter))) {
      return {};  // a kernel can not read a factor, or a class, in the host's memory
    }
    if (type == Type::matrix) {
      matrices.push_back(parameter);
    }
    pointers_to_sizes += type == Type::size && is_pointer(parameter) ? 1 : 0;
    arrays = arrays || has(parameter.type, "( * )");
    streams += type == Type::stream ? 1 : 0;
  }
  const Words sizes = names_of(function, Type::size);
  const Choices of_factors = factors_of(names_of(function, Type::scalar));
  const bool mixed = pointers_to_sizes > 0 && pointers_to_sizes != sizes.size();  // indices, perhaps
  if (of_factors.all.empty() || streams > 1 || mixed) {
    return {};
  }
  const bool with_extents = std::ranges::all_of(matrices, has_extents);
  Extents extents = said;
  const std::string layout = layout_in_name(function.name);  // in rows or in columns
  if (!layout.empty() && !with_extents) {
    extents.a_transposed = layout.front() == 't';
    extents.b_transposed = layout.back() == 't';
  }
  const std::string named = layout_by_names(function.parameters);
  extents.a_transposed = extents.a_transposed || named == "tn";
  extents.b_transposed = extents.b_transposed || named == "nt";
  Choices of_matrices = matrices_of(matrices);
  Choices of_sizes;
  if (const Words vectors = sizes.size() == 2 ? matrix_and_vectors(matrices) : Words(); !vectors.empty()) {
    extents.fixed["N"] = "1";
    of_matrices = {{vectors}, false};
    const std::string& inner = summed.empty() ? sizes.back() : summed;
    of_sizes = Choices::of(each(sizes, [&](const std::string& name) { return name == inner ? "K" : "M"; }));
  } else if (sizes.empty() && extents.fixed.size() == 3) {
    of_sizes = {{{}}, false};
  } else if (!sizes.empty() || with_extents) {
    of_sizes = sizes_of(sizes, summed, function.is_kernel, function.parameters);
  }
  Readings readings = readings_of(function, of_matrices, of_sizes, of_factors.all.front(), extents);
  readings.certain = readings.certain && !arrays;
  if (std::vector<Reading>& all = readings.all; !all.empty() && !with_extents) {
    if ((!layout.empty() || named == "tn") && !all.front().ops.empty() && all.size() == 1) {
      all.push_back(with_swapped(all.front(), IN_COLUMNS));
      std::ranges::reverse(all.back().ops);
      extents.a_transposed &= named != "tn";  // other files than ggml's have these names for matrices in rows
      all.front() = readings_of(function, of_matrices, of_sizes, of_factors.all.front(), extents).all.front();
    } else if (named == "nt" && layout.empty()) {  // or plain, in spite of the name
      extents.b_transposed = false;
      const Readings plain = readings_of(function, of_matrices, of_sizes, of_factors.all.front(), extents);
      all.insert(all.end(), plain.all.begin(), plain.all.end());
    } else if (readings.certain && sizes.size() >= 3) {
      add_other_orders(all, summed.empty());
    }
  }
  return readings;
}

Words arguments_of(const simt::Function& function, const Words& values) {
  Words arguments;
  for (std::size_t i = 0; i < values.size();) {
    const std::string of = class_of(function.parameters[i]);
    Words members{values[i++]};
    while (!of.empty() && i < values.size() && class_of(function.parameters[i]) == of) {
      members.push_back(values[i++]);
    }
    const std::string name = of.substr(0, of.find_first_of("(*& "));
    if (const std::size_t open = of.find('('); open != std::string::npos) {  // its constructors are passed over
      const std::string names = of.substr(open + 1, of.find(')') - open - 1);
      std::string each;
      for (const std::string_view member : split(names, ' ')) {
        each += fmt::format("{}&{}::{}, {}", each.empty() ? "" : ", ", name, member, members.front());
        members.erase(members.begin());
      }
      arguments.push_back(fmt::format("{}made_of<{}>({})", has(of, "*") ? "&" : "", name, each));
      continue;
    }
    const std::string made = fmt::format("{}{{{}}}", name, fmt::join(members, ", "));
    // A temporary lasts as long as the call, and has an address as a constant.
    const std::string address = fmt::format("({0}*)&(const {0}&){1}", name, made);
    arguments.push_back(of.empty() ? members.front() : has(of, "*") ? address : has(of, "&") ? "*" + address : made);
  }
  return arguments;
}

Reading reading_to_start_from(const simt::Function& function, const std::string& summed, const Extents& extents) {
  Readings readings = readings_of(function, summed, extents);
  if (!readings.all.empty()) {
    return readings.all.front();
  }
  const auto is_open = [&](const simt::Parameter& parameter) {
    const std::optional<Type> type = type_of(parameter);
    const std::string lower = lower_name(parameter.name);
    return !type ||
           (type == Type::size && (meaning_of(lower, Names::sizes).empty() ||
                                   (function.is_kernel && is_pointer(parameter)))) ||  // in the device's memory
           (type == Type::scalar && lower != "alpha" && lower != "beta");
  };
  simt::Function rest = function;
  std::erase_if(rest.parameters, is_open);
  const bool sized = !names_of(rest, Type::size).empty();
  readings = readings_of(rest, summed, sized ? Extents() : Extents{.fixed = {{"M", ""}, {"N", ""}, {"K", ""}}});
  Words known = readings.all.empty() ? Words() : readings.all.front().values;
  Reading reading;
  std::size_t taken = 0;
  for (const simt::Parameter& parameter : function.parameters) {
    const bool open = is_open(parameter);
    const std::string matrix = meaning_of(parameter.name, Names::matrices);
    const std::string named = has(parameter.type, "float4 *") && !matrix.empty()
                                  ? fmt::format("({}){}", parameter.type, matrix)
                              : open                               ? ""
                              : type_of(parameter) == Type::scalar ? lower_name(parameter.name)
                              : type_of(parameter) == Type::size   ? meaning_of(parameter.name, Names::sizes)
                                                                   : matrix;
    const std::string value = open || known.empty() ? named : known[taken++];
    reading.values.push_back(value.empty() ? "?" + parameter.name.substr(parameter.name.rfind('.') + 1) : value);
  }
  return reading;
}

}  // namespace sgemm
