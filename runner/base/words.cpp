#include "base/words.hpp"

#include <cxxabi.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <regex>
#include <utility>

#include <fmt/format.h>

namespace sgemm {

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string demangled(const std::string& name) {
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, nullptr),
                                                    std::free);
  return text ? text.get() : name;
}

std::string in_lower_case(std::string_view text) {
  std::string lower;
  for (const char c : text) {
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return lower;
}

std::string quoted(const std::string& word) {
  const bool plain =
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%") ==
      std::string::npos;
  return plain && !word.empty() ? word : fmt::format("'{}'", std::regex_replace(word, std::regex("'"), "'\\''"));
}

std::string quoted(const Words& words) {
  std::string line;
  for (const std::string& word : words) {
    line += (line.empty() ? "" : " ") + quoted(word);
  }
  return line;
}

bool Pace::shows(std::string_view text) {
  constexpr auto PERIOD = std::chrono::milliseconds(100);
  std::string words(text);
  std::erase_if(words, [](char c) { return '0' <= c && c <= '9'; });
  const auto now = std::chrono::steady_clock::now();
  if (words == words_ && now - shown_ < PERIOD) {
    return false;
  }
  words_ = std::move(words);
  shown_ = now;
  return true;
}

std::size_t word_distance(std::string_view word, std::string_view candidate) {
  if (candidate.find(word) != std::string_view::npos) {
    return 0;
  }
  // Levenshtein's distance; `row` holds the distances from the letters seen so far to every prefix of the candidate.
  std::vector<std::size_t> row(candidate.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < word.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < candidate.size(); ++j) {
      const std::size_t substituted = diagonal + (word[i] == candidate[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

Words nearest(std::vector<Candidate> candidates, std::size_t limit) {
  std::ranges::stable_sort(candidates, {}, &Candidate::distance);
  candidates.resize(std::min(limit, candidates.size()));
  Words names;
  names.reserve(candidates.size());
  for (Candidate& candidate : candidates) {
    names.push_back(std::move(candidate.name));
  }
  return names;
}

}  // namespace sgemm
