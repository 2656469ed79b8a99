#include "judge/secret.hpp"

#include "base/counter_random.hpp"
#include "base/usage_error.hpp"

#include <sys/random.h>

#include <cerrno>
#include <charconv>
#include <system_error>

#include <fmt/format.h>

namespace sgemm {

Secret Secret::draw() {
  std::array<std::uint64_t, 2> halves{};
  if (getrandom(halves.data(), sizeof(halves), 0) != static_cast<ssize_t>(sizeof(halves))) {
    throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return Secret(halves);
}

Secret Secret::parse(std::string_view text) {
  constexpr std::size_t DIGITS = 16;
  std::array<std::uint64_t, 2> halves{};
  bool right = text.size() == 2 * DIGITS;
  for (std::size_t i = 0; right && i < halves.size(); ++i) {
    const char* const begin = text.data() + i * DIGITS;
    const auto [end, error] = std::from_chars(begin, begin + DIGITS, halves[i], 16);
    right = error == std::errc() && end == begin + DIGITS;
  }
  if (!right) {
    throw UsageError(fmt::format("a secret has 32 hexadecimal digits, not '{}'", text));
  }
  return Secret(halves);
}

std::string Secret::text() const { return fmt::format("{:016x}{:016x}", halves_[0], halves_[1]); }

std::uint64_t Secret::seed(std::uint64_t counter) const {
  const std::uint64_t inner = CounterRandom(halves_[0], RandomStream::judge)(counter);
  return CounterRandom(inner ^ halves_[1], RandomStream::judge)(counter);
}

}  // namespace sgemm
