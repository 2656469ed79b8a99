#include "memory_pool.hpp"

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>

namespace sgemm {

std::optional<std::size_t> bytes_of(const std::string& text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || unit == text.data()) {
    return std::nullopt;
  }
  std::string_view suffix(unit, static_cast<std::size_t>(end - unit));
  if (suffix.size() > 1 && (suffix.substr(1) == "B" || suffix.substr(1) == "iB")) {
    suffix = suffix.substr(0, 1);
  }
  constexpr std::string_view UNITS = "KMGT";
  unsigned shift = 0;
  if (!suffix.empty()) {
    const std::size_t place = UNITS.find(suffix);
    if (suffix.size() != 1 || place == std::string_view::npos) {
      return std::nullopt;
    }
    shift = 10 * (static_cast<unsigned>(place) + 1);
  }
  if (number > std::numeric_limits<std::uint64_t>::max() >> shift) {
    return std::nullopt;
  }
  return number << shift;
}

std::size_t memory_limit() {
  constexpr std::size_t NONE = std::numeric_limits<std::size_t>::max();
  const char* const text = std::getenv("SGEMM_MEMORY");
  if (text == nullptr || *text == '\0') {
    return NONE;
  }
  const std::optional<std::size_t> bytes = bytes_of(text);
  if (!bytes) {
    static const int told = std::fprintf(
        stderr, "libsgemm: SGEMM_MEMORY=%s is no number of bytes such as 512M or 2G; there is no limit\n", text);
    static_cast<void>(told);
  }
  return bytes.value_or(NONE);
}

}  // namespace sgemm
