#include "problem/sizes.hpp"

#include "base/usage_error.hpp"
#include "base/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>
#include <system_error>

namespace sgemm {
namespace {

constexpr std::int64_t MAX_DIMENSION = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t MAX_ELEMENTS = std::int64_t{1} << 60;  // their bytes stay far from the end of int64_t
constexpr std::int64_t MAX_RANGE_LENGTH = 100000;

[[noreturn]] void reject(std::string_view term, std::string_view reason) {
  throw UsageError(fmt::format("bad size '{}': {}", term, reason));
}

[[noreturn]] void reject_form(std::string_view term) {
  if (term.ends_with('k') || term.ends_with('K')) {
    const auto thousands = number_in<std::int64_t>(term.substr(0, term.size() - 1)).value_or(0);
    if (thousands > 0 && thousands < MAX_RANGE_LENGTH) {
      reject(term, fmt::format("sizes are whole numbers, as {}", thousands * 1024));
    }
  }
  if (term.find_first_of("X*") != std::string_view::npos) {
    std::string meant(term);
    std::ranges::replace_if(
        meant, [](char c) { return c == 'X' || c == '*'; }, 'x');
    reject(term, fmt::format("dimensions stand around a small x, as in {}", meant));
  }
  reject(term, "expected N, FIRST:LAST, FIRST:LAST:STEP, MxNxK or BATCHxMxNxK, and :nt, :tn or :tt if transposed");
}

std::int64_t parse_number(std::string_view text, std::string_view term) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (rest != end || error == std::errc::invalid_argument) {
    reject_form(term);
  }
  if (error == std::errc::result_out_of_range || value < 1 || value > MAX_DIMENSION) {
    reject(term, fmt::format("{} is not between 1 and {}", text, MAX_DIMENSION));
  }
  return value;
}

Size checked(const Size& size, std::string_view term) {
  // Two dimensions of at most 2^31 - 1 multiply without overflow.
  if (std::max({size.m * size.k, size.k * size.n, size.m * size.n}) > MAX_ELEMENTS / size.batch) {
    reject(term, fmt::format("{} of {} has more than 2^60 elements", size.batch == 1 ? "a matrix" : "an operand",
                             to_string(size)));
  }
  return size;
}

Size square(std::int64_t dimension, std::string_view term) { return checked({dimension, dimension, dimension}, term); }

std::vector<Size> parse_range(std::string_view range, std::string_view term) {
  const std::vector<std::string_view> parts = split(range, ':');
  if (parts.size() > 3) {
    reject_form(term);
  }
  const std::int64_t first = parse_number(parts[0], term);
  const std::int64_t last = parse_number(parts[1], term);
  const std::int64_t step = parts.size() == 3 ? parse_number(parts[2], term) : 0;  // 0: double
  if (first > last) {
    reject(term, fmt::format("the range is empty, {} is above {}", first, last));
  }
  if (step > 0 && (last - first) / step >= MAX_RANGE_LENGTH) {
    reject(term, fmt::format("the range has {} sizes, more than {}", (last - first) / step + 1, MAX_RANGE_LENGTH));
  }
  std::vector<Size> sizes;
  for (std::int64_t dimension = first; dimension <= last; dimension = step > 0 ? dimension + step : 2 * dimension) {
    sizes.push_back(square(dimension, term));
  }
  return sizes;
}

/// The sizes of a term before its operations. Messages name the whole term.
std::vector<Size> parse_extents(std::string_view extents, std::string_view term) {
  if (extents.find(':') != std::string_view::npos) {
    return parse_range(extents, term);
  }
  const std::vector<std::string_view> parts = split(extents, 'x');
  if (parts.size() == 1) {
    return {square(parse_number(extents, term), term)};
  }
  if (parts.size() != 3 && parts.size() != 4) {
    reject_form(term);
  }
  const bool has_batch = parts.size() == 4;
  const auto dimension = [&](std::size_t index) { return parse_number(parts[has_batch ? index + 1 : index], term); };
  Size size{dimension(0), dimension(1), dimension(2)};
  if (has_batch) {
    size.batch = parse_number(parts[0], term);
  }
  return {checked(size, term)};
}

std::vector<Size> parse_term(std::string_view term) {
  constexpr std::array<std::string_view, 4> OPERATIONS{"nn", "nt", "tn", "tt"};
  const std::size_t colon = term.rfind(':');
  const std::string_view ops = colon == std::string_view::npos ? "" : term.substr(colon + 1);
  if (std::ranges::find(OPERATIONS, ops) == OPERATIONS.end()) {
    return parse_extents(term, term);
  }
  std::vector<Size> sizes = parse_extents(term.substr(0, colon), term);
  for (Size& size : sizes) {
    size.transposed_a = ops[0] == 't';
    size.transposed_b = ops[1] == 't';
  }
  return sizes;
}

}  // namespace

Shape shape_of(const Size& size, float alpha, float beta) {
  return {size.m, size.n, size.k, alpha, beta, size.transposed_a, size.transposed_b, size.batch};
}

std::string ops_of(const Size& size) { return {size.transposed_a ? 't' : 'n', size.transposed_b ? 't' : 'n'}; }

std::string to_string(const Size& size) {
  const std::string batch = size.batch == 1 ? "" : fmt::format("{}x", size.batch);
  const std::string ops = size.transposed_a || size.transposed_b ? fmt::format(":{}", ops_of(size)) : "";
  return fmt::format("{}{}x{}x{}{}", batch, size.m, size.n, size.k, ops);
}

std::vector<Size> parse_sizes(std::string_view expression) {
  std::vector<Size> sizes;
  std::set<Size> seen;
  for (const std::string_view term : split(expression, ',')) {
    if (term.empty()) {
      throw UsageError(fmt::format("bad sizes '{}': a term is empty", expression));
    }
    for (const Size& size : parse_term(term)) {
      if (seen.insert(size).second) {
        sizes.push_back(size);
      }
    }
  }
  return sizes;
}

}  // namespace sgemm
