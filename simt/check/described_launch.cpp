#include "check/described_launch.hpp"

#include "simt/source.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string_view>

namespace simt {
namespace {

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_of_word) &&
         std::isdigit(static_cast<unsigned char>(text.front())) == 0;
}

/// Nothing where the argument is an expression.
std::optional<ArrayDescription> array_of(const std::string& argument) {
  const std::size_t blank = argument.find_first_of(" \t");
  const std::size_t open = argument.find('[');
  ArrayDescription array;
  array.use = argument.substr(0, blank);
  if (blank == argument.npos || (array.use != "in" && array.use != "out" && array.use != "inout")) {
    return std::nullopt;
  }
  const std::string head =
      trimmed(std::string_view(argument).substr(blank, open == argument.npos ? open : open - blank));
  std::size_t name = head.size();
  while (name > 0 && is_of_word(head[name - 1])) {
    --name;
  }
  array.name = head.substr(name);
  array.type = trimmed(std::string_view(head).substr(0, name));
  std::string_view rest = open == argument.npos ? std::string_view() : std::string_view(argument).substr(open);
  while (rest.starts_with('[') && rest.find(']') != rest.npos) {
    array.extents.push_back(trimmed(rest.substr(1, rest.find(']') - 1)));
    rest.remove_prefix(rest.find(']') + 1);
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  }
  const bool initialised = rest.starts_with('=');
  array.element = initialised ? trimmed(rest.substr(1)) : "";
  const bool whole = initialised ? !array.element.empty() : rest.empty();
  if (!is_name(array.name) || array.extents.empty() || std::ranges::count(array.extents, "") > 0 || !whole) {
    throw BadDescription("'" + argument +
                         "' is no array: one is described as in \"in x[n]\", \"out float y[m][n]\" or " +
                         "\"in int index[n] = i % 7\"");
  }
  if (initialised && array.use == "out") {
    throw BadDescription("'" + argument + "': what is \"out\" holds nothing before the launch; \"inout\" does");
  }
  return array;
}

/// "x = 3" taken apart; nothing where the statement is none.
std::optional<std::pair<std::string, std::string>> size_of(std::string_view statement) {
  const std::size_t equals = statement.find('=');
  if (equals == statement.npos || !is_name(trimmed(statement.substr(0, equals)))) {
    return std::nullopt;
  }
  return std::pair(trimmed(statement.substr(0, equals)), trimmed(statement.substr(equals + 1)));
}

std::string without_semicolon(std::string_view statement) {
  std::string text = trimmed(statement);
  while (text.ends_with(';')) {
    text = trimmed(std::string_view(text).substr(0, text.size() - 1));
  }
  return text;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    text += (text.empty() ? "" : ", ") + part;
  }
  return text;
}

}  // namespace

std::string LaunchDescription::heading() const {
  return configuration.empty() ? callee : callee + "<<<" + joined(configuration) + ">>>";
}

LaunchDescription described_launch(const std::string& text, const std::string& file, int line) {
  LaunchDescription launch;
  launch.file = file;
  launch.line = line;
  std::string call;
  for (const std::string& part : split_statements(text)) {
    const std::string statement = without_semicolon(part);
    if (statement.empty()) {
      continue;
    }
    if (!call.empty()) {
      throw BadDescription("'" + statement + "' stands behind a launch: a line has one");
    }
    if (const auto size = size_of(statement)) {
      launch.sizes.push_back(*size);
    } else {
      call = statement;
    }
  }
  std::string arguments;
  if (const std::optional<LaunchParts> parts = parts_of_launch(call)) {
    launch.callee = parts->kernel;
    launch.configuration = parts->configuration;
    arguments = parts->arguments;
  } else if (const std::size_t open = call.find('(');
             open != call.npos && call.ends_with(')') && call.find("<<<") == call.npos) {
    launch.callee = trimmed(std::string_view(call).substr(0, open));
    arguments = call.substr(open);
  }
  if (launch.callee.empty()) {
    throw BadDescription("'" + call + "' is no launch: one is described as in \"n = 1000; " +
                         "saxpy<<<(n + 127) / 128, 128>>>(n, 2.0f, in x[n], inout y[n])\"");
  }
  for (const std::string& argument : split_arguments(std::string_view(arguments).substr(1, arguments.size() - 2))) {
    std::optional<ArrayDescription> array = array_of(argument);
    if (array || !argument.empty()) {
      launch.arguments.push_back({array ? array->name : argument, std::move(array)});
    }
  }
  return launch;
}

std::string function_of(const LaunchDescription& launch, const std::string& name) {
  std::string file;
  for (const char c : launch.file) {
    file += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  }
  const std::string here = "#line " + std::to_string(launch.line) + " \"" + file + "\"\n";
  std::string text = "extern \"C\" void " + name + "(simt::DescribedArrays& simt_arrays) {\n";
  for (const auto& [size, value] : launch.sizes) {
    text.append(here).append("[[maybe_unused]] const auto ").append(size).append(" = ").append(value).append(";\n");
  }
  std::vector<std::string> values;
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    values.push_back(launch.arguments[i].expression);
    const std::optional<ArrayDescription>& array = launch.arguments[i].array;
    if (!array) {
      continue;
    }
    std::string count;
    for (const std::string& extent : array->extents) {
      count += (count.empty() ? "" : " * ") + ("static_cast<long long>(" + extent + ")");
    }
    const std::string type = !array->type.empty()
                                 ? array->type
                                 : "simt::ElementOf<decltype(" + launch.callee + "), " + std::to_string(i) + ">";
    text.append(here).append("auto* const ").append(array->name).append(" = simt::make_array<").append(type);
    text.append(">(simt_arrays, \"").append(array->name).append("\", simt::ArrayUse::").append(array->use);
    text.append(", ").append(count).append(", ");
    text.append(array->element.empty() ? "simt::AnyElements()"
                                       : "[&]([[maybe_unused]] long long i) { return " + array->element + "; }");
    text.append(");\n");
  }
  text += "simt_arrays.begin();\n";
  if (launch.configuration.size() > 2) {  // the consent that more than 48 KiB take
    text.append(here).append("cudaFuncSetAttribute((const void*)(").append(launch.callee);
    text.append("), cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(").append(launch.configuration[2]);
    text.append("));\n");
  }
  return text.append(here).append(launch.heading()).append("(").append(joined(values)).append(");\n}\n");
}

}  // namespace simt
