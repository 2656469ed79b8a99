#include "cli/values.hpp"

#include "base/words.hpp"

#include <cmath>

namespace sgemm {

float parse_factor(std::string_view flag, std::string_view text) {
  return number<float>([](float x) { return std::isfinite(x); }, "a finite single-precision number")(flag, text);
}

double parse_seconds(std::string_view flag, std::string_view text) {
  return number<double>([](double x) { return std::isfinite(x) && x > 0; }, "a finite number above 0")(flag, text);
}

Grid parse_grid(std::string_view flag, std::string_view text) {
  constexpr std::string_view EXPECTED = "of the form 2x4, rows times columns of GPUs";
  const std::vector<std::string_view> sides = split(text, 'x');
  if (sides.size() != 2) {
    reject(flag, text, EXPECTED);
  }
  const auto side = [&](std::string_view digits) {
    const int found = number_in<int>(digits).value_or(0);
    if (found < 1 || found > MOST_GPUS) {
      reject(flag, text, EXPECTED);
    }
    return found;
  };
  const Grid grid{side(sides[0]), side(sides[1])};
  if (grid.size() > MOST_GPUS) {
    reject(flag, text, fmt::format("a grid of {} GPUs at most", MOST_GPUS));
  }
  return grid;
}

std::vector<Distribution> parse_data(std::string_view flag, std::string_view text) {
  if (text == "all") {
    return {DISTRIBUTIONS.begin(), DISTRIBUTIONS.end()};
  }
  std::vector<Distribution> data;
  for (const std::string_view word : split(text, ',')) {
    const Distribution parsed = one_of(KINDS)(flag, word);
    if (std::ranges::find(data, parsed) != data.end()) {
      throw UsageError(fmt::format("{}: {} is given more than once", flag, word));
    }
    data.push_back(parsed);
  }
  return data;
}

}  // namespace sgemm
