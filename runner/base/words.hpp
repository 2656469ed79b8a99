#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace sgemm {

using Words = std::vector<std::string>;

/// The parts of `text` between separators, empty ones included; always at least one.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end = text.find(separator); end != std::string_view::npos; end = text.find(separator)) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

inline bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

inline bool contains(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

inline void append(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

/// The number that is all of `text`.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && rest == end ? std::optional(number) : std::nullopt;
}

/// The whole file; empty where it can not be read.
std::string content_of(const std::filesystem::path& path);

/// The name of a function or variable as a person writes it, of what a compiler calls it.
std::string demangled(const std::string& name);

std::string in_lower_case(std::string_view text);

/// A shell's word, in quotes where it needs them.
std::string quoted(const std::string& word);

/// A shell's command line.
std::string quoted(const Words& words);

/// Which texts a line on progress shows: all that say something new, and of those that differ in numbers ten a second.
class Pace {
 public:
  bool shows(std::string_view text);

 private:
  std::string words_;
  std::chrono::steady_clock::time_point shown_;
};

/// Something that a mistyped word may have been meant for; smaller distances are likelier.
struct Candidate {
  std::size_t distance = 0;
  std::string name;
};

/// 0 when `candidate` contains `word`, otherwise the number of insertions, deletions and substitutions between them.
std::size_t word_distance(std::string_view word, std::string_view candidate);

/// The names of at most `limit` candidates, nearest first; equally near ones keep their order.
Words nearest(std::vector<Candidate> candidates, std::size_t limit);

}  // namespace sgemm
