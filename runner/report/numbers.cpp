#include "report/numbers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace sgemm {

std::string short_number(double value) {
  constexpr double SMALL = 10000.0;
  if (value == std::floor(value) && value < SMALL) {
    return fmt::format("{:.0f}", value);
  }
  constexpr std::array<std::string_view, 6> UNITS{"", " k", " M", " G", " T", " P"};
  constexpr double KILO = 1000.0;
  std::size_t unit = 0;
  for (; value >= KILO - 0.5 && unit + 1 < UNITS.size(); ++unit) {
    value /= KILO;
  }
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}{}", value, decimals, UNITS[unit]);
}

std::string bytes_text(double bytes) {
  const std::string number = short_number(bytes);
  return number + (number.find(' ') == std::string::npos ? " B" : "B");
}

std::string short_number(std::uint64_t value) { return short_number(static_cast<double>(value)); }

std::string bytes_text(std::uint64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

}  // namespace sgemm
