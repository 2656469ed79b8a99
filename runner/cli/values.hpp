#pragma once

#include "base/usage_error.hpp"
#include "base/words.hpp"
#include "problem/operands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The values of flags. What is no value of a flag is a UsageError that names both.

namespace sgemm {

/// Has the type of a value, so that parsers can return it, and returns none.
[[noreturn]] inline std::string reject(std::string_view flag, std::string_view value, std::string_view expected) {
  throw UsageError(fmt::format("{}: '{}' is not {}", flag, value, expected));
}

/// "cold, warm".
template <class Choices>
std::string words(const Choices& choices, std::string_view separator = ", ") {
  std::vector<std::string> result;  // a view would be shorter, and clang-tidy 14 cannot read GCC's
  result.reserve(std::size(choices));
  for (const auto& choice : choices) {
    result.emplace_back(to_string(choice));
  }
  return fmt::to_string(fmt::join(result, separator));
}

// Parsers take a flag's name and its text, and return the value.

/// The parser of a number that is accepted; `expected` says which are.
template <class Number, class Accepted>
auto number(const Accepted& accepted, const std::string& expected) {
  return [=](std::string_view flag, std::string_view text) {
    const std::optional<Number> found = number_in<Number>(text);
    if (!found || !accepted(*found)) {
      reject(flag, text, expected);
    }
    return *found;
  };
}

/// The parser of a whole number from `least` to `most`.
template <class Number>
auto between(Number least, Number most) {
  return number<Number>([=](Number x) { return least <= x && x <= most; },
                        most == std::numeric_limits<Number>::max()
                            ? fmt::format("a whole number above {}", least - 1)
                            : fmt::format("a whole number between {} and {}", least, most));
}

/// The parser of one of these words.
template <class Choices>
auto one_of(const Choices& choices) {
  return [choices](std::string_view flag, std::string_view text) {
    const auto choice = std::ranges::find_if(choices, [&](auto x) { return to_string(x) == text; });
    if (choice == choices.end()) {
      reject(flag, text, fmt::format("one of {}", words(choices)));
    }
    return *choice;
  };
}

float parse_factor(std::string_view flag, std::string_view text);
std::vector<Distribution> parse_data(std::string_view flag, std::string_view text);

}  // namespace sgemm
