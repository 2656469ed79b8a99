#include "user/launch.hpp"

#include "base/usage_error.hpp"
#include "user/file_code.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <regex>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sgemm {
namespace {

// ---- What is proposed ----

/// The command line of the run with this launch, which stands for the reading.
std::string command_with(const LaunchOptions& options, const std::string& launch, const Reading& reading) {
  Words words = options.command;
  if (const std::string& ops = reading.ops; !ops.empty() || !reading.sizes.empty()) {
    auto sizes = std::ranges::find_if(words, [](const std::string& word) { return word.starts_with("--sizes"); });
    if (words.end() - sizes < 2 && (sizes == words.end() || *sizes == "--sizes")) {
      words.insert(words.end(), {"--sizes", "256"});
      sizes = words.end() - 2;
    }
    std::string& value = *sizes == "--sizes" ? sizes[1] : *sizes;
    static const std::regex OPS(":[nt]{2}\\b");  // of another reading
    value = !reading.sizes.empty()
                ? std::regex_replace(value, std::regex("[^=]+$"), reading.sizes)
                : std::regex_replace(std::regex_replace(value, OPS, ""), std::regex(",|$"), ":" + ops + "$&");
  }
  words.insert(words.end(), {"--launch", launch});
  if (has(launch, "workspace") && !options.workspace) {
    words.insert(words.end(), {"--workspace", "64 * M * N"});  // of a bias, or of sixteen parts of C
  }
  if (!reading.requirement.empty() && !options.requirement) {
    words.insert(words.end(), {"--requires", reading.requirement});
  }
  return quoted(words);
}

/// Whether `text` has `word` as a whole word.
bool has_word(const std::string& text, std::string_view word) { return simt::read_source(text).has_word(word); }

/// Launches to start from, and their readings. What they can not fill in begins with a question mark.
std::vector<std::pair<std::string, Reading>> launches_to_start_from(const simt::Function& kernel, const Code& code) {
  const simt::Function instance = code.instance_of(kernel);
  std::string name = instance.name;
  if (instance.needs_template_arguments()) {
    Words values;
    for (const simt::Parameter& parameter : kernel.template_parameters) {
      const bool is_type = std::ranges::any_of(  // perhaps one that a concept allows
          kernel.parameters, [&](const simt::Parameter& one) { return has_word(one.type, parameter.name); });
      const bool is_class = is_type || parameter.type == "typename" || parameter.type == "class";
      const bool has_members = code.says(kernel, parameter.name + R"(\s*::)");  // Config::TILE: no type of numbers
      values.push_back(is_class && !has_members                              ? "float"
                       : kernel.template_parameters.size() == 1 && !is_class ? "32"
                                                                             : "?" + parameter.name);
    }
    name += fmt::format("<{}>", fmt::join(values, ", "));
  }
  const Reading reading = reading_to_start_from(instance, code.summed_extent(instance), code.extents_of(kernel));
  const std::string arguments = fmt::format("({})", fmt::join(arguments_of(instance, reading.values), ", "));
  if (!kernel.is_kernel) {
    return {{name + arguments, reading}};
  }
  std::vector<std::pair<std::string, Reading>> launches;
  for (const auto& [own_name, configuration, own_reading] : code.launches_of(kernel, reading)) {
    launches.emplace_back(fmt::format("{}<<<{}>>>{}", own_name.empty() ? name : own_name, configuration, arguments),
                          own_reading);
  }
  return launches;
}

bool fits_product(const simt::Function& function, const Code& code) {
  return !readings_of(code.instance_of(function), code.summed_extent(function)).all.empty();
}

/// Why there is no launch, with the functions of the file and a line to start from.
[[noreturn]] void reject(const simt::Source& source, const std::string& path, const std::string& why, const Code& code,
                         const LaunchOptions& options) {
  std::string details;
  const simt::Function* kernel = nullptr;
  for (const simt::Function& function : source.functions) {
    details += fmt::format("  {}:{}: {}{}\n", path, function.line, function.is_kernel ? "__global__ " : "",
                           function.signature());
    // A kernel, or else what launches one of another file.
    const bool could_be =
        function.is_kernel || (!function.is_method && function.name != "main" && code.launches(function));
    const auto rank = [&](const simt::Function& one) {
      return std::tuple(one.is_kernel, fits_product(one, code), one.parameters.size());
    };
    if (could_be && (kernel == nullptr || rank(*kernel) < rank(function))) {
      kernel = &function;
    }
  }
  if (!details.empty()) {
    details = "The file has:\n" + details;
  }
  if (kernel != nullptr && code.why_no_product().empty()) {
    details += "A line to start from; in the file, the launch may stand in a comment that begins with \"launch:\":\n";
    const auto launches = launches_to_start_from(*kernel, code);
    for (const auto& [launch, reading] : std::span(launches).first(std::min(launches.size(), std::size_t{6}))) {
      details += fmt::format("  {}\n", command_with(options, launch, reading));
    }
    details += fmt::format("Its names: {}{}{}.\n", NAMES_OF_PROBLEM,
                           kernel->is_kernel ? "; grid and block are those of the kernel" : "",
                           has(launches.front().first, "?") ? ", and what begins with ? has to be filled in" : "");
  }
  throw UsageError(fmt::format("{}: {}", path, why), details);
}

/// A host function that computes a product. One that returns it has one more parameter here, for the result.
struct Callable {
  simt::Function function;
  Readings readings;
  bool returns = false;
  std::string signature;  ///< as it was written

  std::string call(const Reading& reading) const {
    Words arguments = arguments_of(function, reading.values);
    arguments.resize(arguments.size() - (returns ? 1 : 0));
    const std::string made = fmt::format("{}({})", function.name, fmt::join(arguments, ", "));
    return returns ? fmt::format("{}.copy_({})", reading.values.back(), made) : made;
  }
};

/// Where names do not say which argument is which: the calls that are possible.
[[noreturn]] void ask(const Callable& callable, const std::string& path, const LaunchOptions& options) {
  const auto& [function, readings, returns, signature] = callable;
  std::string lines = fmt::format("  {}:{}: {}\nChoose what it means:\n", path, function.line, signature);
  for (const Reading& reading : readings.all) {
    lines += fmt::format("  {}\n", command_with(options, callable.call(reading), reading));
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
    lines += fmt::format("  {}\n", quoted(words));
  }
  throw UsageError(fmt::format("{}: {} of its functions could compute the product: choose one", path, callable.size()),
                   lines);
}

// ---- What is launched ----

bool is_called(const simt::Function& function, const std::string& chosen) {
  return chosen.empty() || function.name == chosen || base_name(function.name) == chosen;
}

/// What the flag says, or else the file's first comment that begins with `word`.
std::optional<PlacedText> given(const std::optional<std::string>& flag, const std::string& word,
                                const simt::Source& source, const std::string& path) {
  if (flag) {
    return PlacedText{*flag, "--" + word, 1};
  }
  const std::vector<simt::Comment> own = source.directives(word);
  return own.empty() ? std::nullopt : std::optional(PlacedText{own.front().text, path, own.front().line});
}

std::optional<PlacedText> requirement_of(const simt::Source& source, const std::string& path,
                                         const LaunchOptions& options, const std::string& implied) {
  std::optional<PlacedText> requirement = given(options.requirement, "requires", source, path);
  if (!implied.empty() && requirement) {
    requirement->text = fmt::format("{} && ({})", implied, requirement->text);
  }
  return implied.empty() || requirement ? requirement : PlacedText{implied, path, 1};
}

/// The file's launch lines for the kernel `chosen`; all where that is empty.
std::vector<simt::Comment> launch_lines(const simt::Source& source, const std::string& chosen) {
  std::vector<simt::Comment> launches = source.directives("launch");
  std::erase_if(launches, [&](const simt::Comment& launch) {
    const bool is_prose = has(launch.text, " ") && launch.text.find_first_of("({;<") == std::string::npos;
    return is_prose || (!chosen.empty() && !has_word(launch.text, base_name(chosen)));
  });
  return launches;
}

/// The host functions that compute a product and launch something; those called `chosen` where it is not empty, whether
/// they launch or not.
std::vector<Callable> callable_functions(const simt::Source& source, const Code& code, const std::string& chosen) {
  std::vector<Callable> callable;
  for (const simt::Function& function : source.functions) {
    if (function.is_kernel || function.is_method || function.is_device || !is_called(function, chosen) ||
        (chosen.empty() && !code.launches(function))) {
      continue;
    }
    simt::Function instance = code.instance_of(function);
    const bool returns = code.returns_tensor(function);
    if (returns) {
      instance.parameters.push_back({"torch :: Tensor", "result"});
    }
    Readings readings = instance.needs_template_arguments()
                            ? Readings{}
                            : readings_of(instance, code.summed_extent(instance), code.extents_of(instance));
    if (!readings.all.empty()) {
      callable.push_back({std::move(instance), std::move(readings), returns, function.signature()});
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

using Parameters = std::vector<simt::Parameter>;

/// Why there is no function to call.
std::string why_not_callable(const simt::Source& source, const Code& code, const std::string& path,
                             const std::string& chosen) {
  const auto kernels = std::ranges::count_if(source.functions, &simt::Function::is_kernel);
  const simt::Function* idle = nullptr;
  for (const simt::Function& function : source.functions) {
    if (chosen.empty() && (idle == nullptr || code.computes(function)) &&
        !callable_functions(source, code, function.name).empty()) {
      idle = &function;
    }
  }
  std::string type;    // of arrays that are no float*
  std::string closed;  // a class
  bool reads_sizes = false;
  std::size_t most = 0;  // arrays of a kernel
  bool more = code.keeps_arrays();
  for (const simt::Function& function : source.functions) {
    std::size_t arrays = 0;
    for (const simt::Parameter& parameter : function.is_kernel ? code.instance_of(function).parameters : Parameters()) {
      const std::optional<Type> own = type_of(parameter);
      const bool other = own != Type::matrix && !has(parameter.type, "float (") && !has(parameter.type, "float4");
      reads_sizes |= own == Type::size && is_pointer(parameter) && !code.says(function, parameter.name + R"(\s*\[)");
      arrays += is_pointer(parameter) ? 1 : 0;
      more |= !is_pointer(parameter) && !own;
      closed = closed.empty() && !fits_product(function, code) ? code.why_closed(parameter) : closed;
      static const std::regex QUALIFIER("const | __restrict__");
      type = is_pointer(parameter) && other ? std::regex_replace(parameter.type, QUALIFIER, "") : type;
    }
    more |= arrays > 0 && fits_product(function, code);
    most = std::max(most, arrays);
  }
  const std::string passed_over =
      idle != nullptr
          ? fmt::format("; its function {} {}", idle->name,
                        code.computes(*idle)
                            ? fmt::format("computes the product on the host, all or a part: {}:{} runs it all the same",
                                          path, idle->name)
                            : "launches nothing of it")
      : reads_sizes ? "; it reads its sizes in the device's memory: a host function may copy them there and launch it"
      : !closed.empty()
          ? fmt::format("; no launch line can make its {}. A host function of float* may make one and launch it",
                        closed)
      : has(type, "* *") ? "; it takes arrays of pointers: a host function of float* may fill them and launch it"
      : kernels > 0 && !more && (most < 3 || (most > 3 && type.empty()))
          ? fmt::format("; a product has three arrays, A, B and C, and its kernels take {}", most)
      : !type.empty() ? "; products are of FP32, in float*: a host function of float* may convert them to " + type +
                            ", and --data integers has operands that need no rounding"
                      : "";
  const auto launches = std::ranges::find_if(source.functions, [&](const simt::Function& function) {
    return !function.is_kernel && function.name != "main" && code.launches(function);
  });
  if (kernels == 0 && launches != source.functions.end()) {
    return "it is not known how to call its function " + launches->name;
  }
  return (kernels == 0
              ? "there is no kernel in it: no __global__ outside strings, and no host function that launches one" +
                    code.kernels_elsewhere()
          : kernels > 1 ? "it is not known how to launch its kernels"
                        : "it is not known how to launch its kernel") +
         passed_over;
}

/// A launch as the file or the command line has it.
UserLaunch as_written(const PlacedText& statement, const simt::Source& source, const Code& code,
                      const std::string& path, const LaunchOptions& options) {
  const auto refuse = [&](const std::string& why) { reject(source, path, why, code, options); };
  const std::string text = shortened(statement.text);
  static const std::regex LEFT_OPEN(R"([<({,]\s*(\?\w+))");
  for (const std::string& open : all_matches(text, LEFT_OPEN)) {
    refuse(fmt::format("{} in the launch line has to be filled in", open));
  }
  static const std::regex CALL(R"((?:^|;)\s*(\w+)\s*(?:<[^<>;]*>)?\s*\()");
  for (const std::string& called : all_matches(text, CALL)) {
    const auto is_there = [&](bool kernel) {
      return std::ranges::any_of(source.functions, [&](const simt::Function& function) {
        return function.is_kernel == kernel && base_name(function.name) == called;
      });
    };
    if (is_there(true) && !is_there(false)) {
      refuse(fmt::format("{} is a kernel, and a launch line launches it as {}<<<grid, block>>>(...)", called, called));
    }
  }
  return UserLaunch{statement, requirement_of(source, path, options, ""), {}, true};
}

UserLaunch launch_and_requirement(const simt::Source& source, const Code& code, const std::string& path,
                                  const std::string& chosen, const LaunchOptions& options) {
  const auto refuse = [&](const std::string& why) { reject(source, path, why, code, options); };
  if (!chosen.empty() && std::ranges::none_of(source.functions, [&](const simt::Function& function) {
        return is_called(function, chosen);
      })) {
    refuse(fmt::format("there is no function '{}' in it", chosen));
  }
  if (options.launch) {
    return as_written(statement_of(*options.launch, "--launch", 1), source, code, path, options);
  }
  const std::vector<simt::Comment> launches = launch_lines(source, chosen);
  if (launches.size() > 1) {
    refuse(fmt::format("it has {} launch lines: choose a kernel of it, {}:NAME", launches.size(), path));
  }
  if (launches.size() == 1) {
    return as_written(statement_of(launches.front().text, path, launches.front().line), source, code, path, options);
  }
  const std::vector<Callable> callable = callable_functions(source, code, chosen);
  if (const std::string why = code.why_no_product(); !why.empty()) {
    refuse(why);
  }
  if (callable.size() > 1) {
    choose(callable, path, options);
  }
  static const std::regex OF_LIBRARY(
      R"(.*: (?:helper_|opencv|thrust\b|cub\b|cute\b|cutlass|cu[a-z]+\.h|cudnn|nccl|nv|boost|gtest|glm).*)");
  Words absent = source.missing;
  std::erase_if(absent, [](const std::string& header) { return std::regex_match(header, OF_LIBRARY); });
  if (callable.empty() && !absent.empty() &&
      std::ranges::none_of(source.functions, [&](const simt::Function& function) {
        return function.is_kernel && fits_product(function, code);
      })) {
    refuse(fmt::format("it includes what is not there and may have the product: name its folder with --include for {}",
                       fmt::join(absent, ", ")));
  }
  if (callable.empty()) {
    const bool whole = std::ranges::count(source.code, '{') == std::ranges::count(source.code, '}');
    refuse(whole ? why_not_callable(source, code, path, chosen) : "its braces do not match");
  }
  const Callable& chosen_one = callable.front();
  const Readings& readings = chosen_one.readings;
  if (!readings.certain) {
    ask(chosen_one, path, options);
  }
  const auto called = [&](const Reading& reading) {
    return UserLaunch{statement_of(chosen_one.call(reading), path, chosen_one.function.line),
                      requirement_of(source, path, options, reading.requirement)};
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

}  // namespace

bool UserLaunch::uses_leading_dimensions() const {
  return std::ranges::any_of(std::array{"lda", "ldb", "ldc"},
                             [this](const char* name) { return has_word(statement.text, name); });
}

bool UserLaunch::takes_batches() const { return has_word(statement.text, "batch"); }

std::vector<std::string> launchable_functions(const simt::Source& all, const std::string& path) {
  const Code code(all);
  const simt::Source source = part_of(all, path);
  std::vector<std::string> names;
  for (const simt::Function& function : source.functions) {
    const bool can_be_launched =
        function.is_kernel ? !launch_lines(source, function.name).empty()
                           : code.launches(function) && !callable_functions(source, code, function.name).empty();
    if (can_be_launched && !contains(names, function.name)) {
      names.push_back(function.name);
    }
  }
  return names;
}

UserLaunch find_launch(const simt::Source& all, const std::string& path, const std::string& chosen,
                       const LaunchOptions& options) {
  const simt::Source source = part_of(all, path);
  UserLaunch launch = launch_and_requirement(source, Code(all), path, chosen, options);
  if (has_word(launch.statement.text, "workspace")) {
    launch.workspace = given(options.workspace, "workspace", source, path);
    if (!launch.workspace) {
      throw UsageError(
          fmt::format("{}: the launch names workspace, and nothing says how many bytes it has: add a comment "
                      "\"// workspace: 4 * M * N\" to the file, or give --workspace '4 * M * N'",
                      path));
    }
  }
  return launch;
}

}  // namespace sgemm
