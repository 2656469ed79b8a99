#include "user/launch.hpp"

#include "base/split.hpp"
#include "base/usage_error.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sgemm {
namespace {

enum class Type { size, scalar, input, output, stream };

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::string in_lower_case(std::string_view text) {
  std::string lower;
  for (const char c : text) {
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return lower;
}

/// The name without what tells device memory from the host's: "d_A", "A_device" and "dA" are "a".
std::string plain_name(std::string_view written) {
  std::string name = in_lower_case(written);
  for (const std::string_view before : {"d_", "dev_", "device_", "mat_", "matrix_", "gpu_", "p_"}) {
    if (name.starts_with(before)) {
      name.erase(0, before.size());
      break;
    }
  }
  for (const std::string_view behind : {"_d", "_dev", "_device", "_gpu", "_ptr", "_"}) {
    if (name.ends_with(behind)) {
      name.erase(name.size() - behind.size());
      break;
    }
  }
  constexpr std::array LONG_NAMES{
      std::pair{"da", "a"},         std::pair{"db", "b"},         std::pair{"dc", "c"},
      std::pair{"mata", "a"},       std::pair{"matb", "b"},       std::pair{"matc", "c"},
      std::pair{"ld_a", "lda"},     std::pair{"ld_b", "ldb"},     std::pair{"ld_c", "ldc"},
      std::pair{"stride_a", "lda"}, std::pair{"stride_b", "ldb"}, std::pair{"stride_c", "ldc"},
      std::pair{"st", "stream"},    std::pair{"s", "stream"}};
  for (const auto& [longer, name_of_it] : LONG_NAMES) {
    if (name == longer) {
      return name_of_it;
    }
  }
  return name;
}

bool is_tensor(const simt::Parameter& parameter) {
  return std::ranges::any_of(std::array{"torch :: Tensor", "at :: Tensor"}, [&](std::string_view tensor) {
    return parameter.type == tensor || parameter.type == fmt::format("const {}", tensor) ||
           parameter.type == fmt::format("const {} &", tensor);
  });
}

bool is_pointer(const simt::Parameter& parameter) { return has(parameter.type, "*"); }

std::optional<Type> type_of(const simt::Parameter& parameter) {
  const std::string& type = parameter.type;
  if (has(type, "cudaStream_t")) {
    return Type::stream;
  }
  if (is_tensor(parameter)) {
    return Type::output;
  }
  const auto stars = std::count(type.begin(), type.end(), '*');
  if (has(type, "float") && stars == 1 && !has(type, "&") && !has(type, "float2") && !has(type, "float4")) {
    const bool is_const = has(type, "const") && type.find("const") < type.find('*');
    // A pointer of such a name is to a factor in the host's memory, as in BLAS. Others are to matrices.
    const std::string name = in_lower_case(parameter.name);
    return !is_const ? Type::output : name == "alpha" || name == "beta" ? Type::scalar : Type::input;
  }
  if (stars > 0 || (has(type, "&") && !has(type, "const"))) {
    return std::nullopt;
  }
  if (has(type, "float") || has(type, "double")) {
    return Type::scalar;
  }
  for (const std::string_view word : {"int", "unsigned", "long", "size_t"}) {
    if (has(type, word) && !has(type, "int2") && !has(type, "int4")) {
      return Type::size;
    }
  }
  return std::nullopt;
}

/// Names of the problem by the plain names of parameters.
const std::map<std::string, std::string>& names_of(Type type) {
  static const std::map<Type, std::map<std::string, std::string>> names{
      {Type::size, {{"m", "M"}, {"n", "N"}, {"k", "K"}, {"lda", "lda"}, {"ldb", "ldb"}, {"ldc", "ldc"}}},
      {Type::scalar, {{"alpha", "alpha"}, {"beta", "beta"}}},
      {Type::input, {{"a", "A"}, {"b", "B"}, {"c", "C"}}},
      {Type::output, {{"a", "A"}, {"b", "B"}, {"c", "C"}}},
      {Type::stream, {{"stream", "stream"}}},
  };
  return names.at(type);
}

/// The usual order of `count` parameters of one type; empty where there is none.
std::vector<std::string> usual_order(Type type, std::size_t count) {
  const std::vector<std::string> sizes{"M", "N", "K", "lda", "ldb", "ldc"};
  switch (type) {
    case Type::size:
      return count == 1                 ? std::vector<std::string>{"N"}
             : count == 3 || count == 6 ? std::vector(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(count))
                                        : std::vector<std::string>{};
    case Type::scalar:
      return count == 2 ? std::vector<std::string>{"alpha", "beta"} : std::vector<std::string>{};
    case Type::input:
    case Type::output:
      return count == 3 ? std::vector<std::string>{"A", "B", "C"} : std::vector<std::string>{};
    case Type::stream:
      return count == 1 ? std::vector<std::string>{"stream"} : std::vector<std::string>{};
  }
  return {};
}

/// Sets the values of the parameters at `places`, all of one type. Returns whether that could be told.
bool assign(const std::vector<std::size_t>& places, Type type, const simt::Function& function,
            std::vector<std::string>& values) {
  std::vector<std::string> named;
  for (const std::size_t place : places) {
    const auto name = names_of(type).find(plain_name(function.parameters[place].name));
    if (name != names_of(type).end() && std::find(named.begin(), named.end(), name->second) == named.end()) {
      named.push_back(name->second);
    }
  }
  if (named.size() != places.size()) {
    named = usual_order(type, places.size());
  }
  for (std::size_t i = 0; i < named.size(); ++i) {
    values[places[i]] = named[i];
  }
  return named.size() == places.size();
}

/// One writable matrix beside two that are only read is C, whatever the order.
bool assign_by_constness(const std::vector<std::size_t>& inputs, const std::vector<std::size_t>& outputs,
                         std::vector<std::string>& values) {
  if (inputs.size() != 2 || outputs.size() != 1) {
    return false;
  }
  values[inputs[0]] = "A";
  values[inputs[1]] = "B";
  values[outputs[0]] = "C";
  return true;
}

bool contains(const std::vector<std::string>& values, std::string_view value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

/// The argument for a parameter that stands for `name` of the problem.
std::string argument_for(const simt::Parameter& parameter, const std::string& name) {
  if (is_tensor(parameter)) {
    const std::string_view extents = name == "A" ? "M, K" : name == "B" ? "K, N" : "M, N";
    return fmt::format("torch::from_blob({}, {{{}}})", name, extents);
  }
  return is_pointer(parameter) && (name == "alpha" || name == "beta") ? "&" + name : name;
}

/// The function with `float` for the type that it is a template over; the function itself where it is no such template.
simt::Function in_single_precision(simt::Function function) {
  if (function.template_parameters.size() != 1) {
    return function;
  }
  const simt::Parameter element = function.template_parameters.front();
  if (element.type != "typename" && element.type != "class") {
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

/// A launch to start from: a thread for each element of C.
std::string suggestion(const simt::Function& kernel) {
  std::string name = kernel.name;
  if (kernel.needs_template_arguments()) {
    std::vector<std::string> parameters;
    for (const simt::Parameter& parameter : kernel.template_parameters) {
      parameters.push_back(parameter.name);
    }
    name += fmt::format("<{}>", fmt::join(parameters, ", "));
  }
  const std::optional<Arguments> arguments = arguments_for(in_single_precision(kernel));
  return fmt::format(
      "--launch '{}<<<dim3(ceil_div(N, 32), ceil_div(M, 32)), dim3(32, 32)>>>({})'", name,
      arguments ? fmt::format("{}", fmt::join(arguments->values, ", ")) : "M, N, K, alpha, A, B, beta, C");
}

[[noreturn]] void reject(const simt::Source& source, const std::string& path, const std::string& why) {
  std::string details;
  const simt::Function* kernel = nullptr;
  for (const simt::Function& function : source.functions) {
    details += fmt::format("  {}:{}: {}{}\n", path, function.line, function.is_kernel ? "__global__ " : "",
                           function.signature());
    if (kernel == nullptr && function.is_kernel) {
      kernel = &function;
    }
  }
  if (!details.empty()) {
    details = "The file has:\n" + details;
  }
  if (kernel != nullptr) {
    details += fmt::format(
        "A line to start from, on the command line, or in the file as a comment that begins with \"launch:\":\n  {}\n"
        "Its names: M N K alpha beta A B C lda ldb ldc stream workspace; grid and block are those of the kernel.\n",
        suggestion(*kernel));
  }
  throw UsageError(fmt::format("{}: {}", path, why), details);
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

/// The host functions called `chosen` that have a usual signature; all where that is empty.
std::vector<std::pair<simt::Function, Arguments>> callable_functions(const simt::Source& source,
                                                                     const std::string& chosen) {
  std::vector<std::pair<simt::Function, Arguments>> callable;
  for (const simt::Function& function : source.functions) {
    if (function.is_kernel || !is_called(function, chosen)) {
      continue;
    }
    simt::Function instance = in_single_precision(function);
    std::optional<Arguments> arguments = instance.needs_template_arguments() ? std::nullopt : arguments_for(instance);
    if (arguments) {
      callable.emplace_back(std::move(instance), std::move(*arguments));
    }
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

UserLaunch launch_and_requirement(const simt::Source& source, const std::string& path, const std::string& chosen,
                                  const LaunchOptions& options) {
  const bool any_function = std::any_of(source.functions.begin(), source.functions.end(),
                                        [&](const simt::Function& function) { return is_called(function, chosen); });
  if (!chosen.empty() && !any_function) {
    reject(source, path, fmt::format("there is no function '{}' in it", chosen));
  }
  if (options.launch) {
    return {statement_of(*options.launch, "--launch", 1), requirement_of(source, path, options, ""), {}};
  }
  const std::vector<simt::Comment> launches = launch_lines(source, chosen);
  if (launches.size() > 1) {
    reject(source, path, fmt::format("it has {} launch lines: choose a kernel of it, {}:NAME", launches.size(), path));
  }
  if (launches.size() == 1) {
    const simt::Comment& launch = launches.front();
    return {statement_of(launch.text, path, launch.line), requirement_of(source, path, options, ""), {}};
  }
  const std::vector<std::pair<simt::Function, Arguments>> callable = callable_functions(source, chosen);
  if (callable.size() > 1) {
    reject(source, path,
           fmt::format("{} of its functions could compute the product: choose one, {}:NAME", callable.size(), path));
  }
  if (callable.empty()) {
    const auto kernels = std::ranges::count_if(source.functions, &simt::Function::is_kernel);
    reject(source, path,
           kernels == 0  ? "there is no kernel in it: no __global__ function, and no host function that computes A * B"
           : kernels > 1 ? "it is not known how to launch its kernels"
                         : "it is not known how to launch its kernel");
  }
  const auto& [function, arguments] = callable.front();
  return {statement_of(fmt::format("{}({})", function.name, fmt::join(arguments.values, ", ")), path, function.line),
          requirement_of(source, path, options, arguments.requirement),
          {}};
}

}  // namespace

bool UserLaunch::uses_leading_dimensions() const {
  return std::ranges::any_of(std::array{"lda", "ldb", "ldc"},
                             [this](const char* name) { return has_word(statement.text, name); });
}

std::optional<Arguments> arguments_for(const simt::Function& function) {
  std::map<Type, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < function.parameters.size(); ++i) {
    const std::optional<Type> type = type_of(function.parameters[i]);
    if (!type) {
      return std::nullopt;
    }
    places[*type].push_back(i);
  }
  const bool has_factor_in_host_memory =
      std::ranges::any_of(places[Type::scalar], [&](std::size_t at) { return is_pointer(function.parameters[at]); });
  if (function.is_kernel && has_factor_in_host_memory) {
    return std::nullopt;
  }
  Arguments arguments;
  arguments.values.resize(function.parameters.size());
  std::vector<std::size_t> matrices = places[Type::input];
  matrices.insert(matrices.end(), places[Type::output].begin(), places[Type::output].end());
  std::sort(matrices.begin(), matrices.end());
  const bool assigned = assign(places[Type::size], Type::size, function, arguments.values) &&
                        assign(places[Type::scalar], Type::scalar, function, arguments.values) &&
                        assign(places[Type::stream], Type::stream, function, arguments.values) &&
                        matrices.size() == 3 && assign(matrices, Type::input, function, arguments.values);
  if (!assigned) {
    return std::nullopt;
  }
  bool all_named = true;
  for (const std::size_t place : matrices) {
    all_named = all_named && names_of(Type::input).contains(plain_name(function.parameters[place].name));
  }
  if (!all_named) {
    assign_by_constness(places[Type::input], places[Type::output], arguments.values);
  }
  std::vector<std::string> conditions;
  const std::size_t sizes = places[Type::size].size();
  const bool tensors_have_sizes =
      sizes == 0 && std::ranges::all_of(matrices, [&](std::size_t at) { return is_tensor(function.parameters[at]); });
  if (sizes == 1) {
    arguments.values[places[Type::size].front()] = "N";
    conditions.emplace_back("M == N && N == K");
  } else if (!tensors_have_sizes &&
             !(contains(arguments.values, "M") && contains(arguments.values, "N") && contains(arguments.values, "K"))) {
    return std::nullopt;
  }
  if (!contains(arguments.values, "alpha")) {
    conditions.emplace_back("alpha == 1");
  }
  if (!contains(arguments.values, "beta")) {
    conditions.emplace_back("beta == 0");
  }
  for (std::size_t i = 0; i < arguments.values.size(); ++i) {
    arguments.values[i] = argument_for(function.parameters[i], arguments.values[i]);
  }
  arguments.requirement = fmt::format("{}", fmt::join(conditions, " && "));
  return arguments;
}

std::vector<std::string> launchable_functions(const simt::Source& source) {
  std::vector<std::string> names;
  for (const simt::Function& function : source.functions) {
    const bool can_be_launched = function.is_kernel ? !launch_lines(source, function.name).empty()
                                                    : !callable_functions(source, function.name).empty();
    if (can_be_launched && std::ranges::find(names, function.name) == names.end()) {
      names.push_back(function.name);
    }
  }
  return names;
}

UserLaunch find_launch(const simt::Source& source, const std::string& path, const std::string& chosen,
                       const LaunchOptions& options) {
  UserLaunch launch = launch_and_requirement(source, path, chosen, options);
  launch.workspace = workspace_of(source, path, launch.statement, options);
  return launch;
}

}  // namespace sgemm
