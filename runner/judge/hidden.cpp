#include "judge/hidden.hpp"

#include "base/counter_random.hpp"
#include "base/usage_error.hpp"
#include "verify/accuracy.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <system_error>

#include <fmt/format.h>
#include <sys/random.h>

namespace sgemm {
namespace {

/// The odd multiple of `step` that is at `value` or next below, at least `step`.
std::int64_t odd_multiple(std::int64_t value, std::int64_t step) {
  const std::int64_t steps = std::max<std::int64_t>(value / step, 1);
  return (steps % 2 == 1 ? steps : steps - 1) * step;
}

/// Draws sizes until one is new. `draw` takes an extent, its place among the three, and how often that was in vain:
/// small extents leave little choice, so that later draws go farther.
template <class Draw>
Size new_size(const Size& asked, const Grain& grain, std::int64_t most, std::vector<Size>& taken, const Draw& draw) {
  for (std::int64_t attempt = 0;; ++attempt) {
    Size size = asked;
    size.m = draw(std::min(asked.m, most), std::size_t{0}, attempt);
    size.n = grain.square ? size.m : draw(std::min(asked.n, most), std::size_t{1}, attempt);
    size.k = grain.square ? size.m : draw(std::min(asked.k, most), std::size_t{2}, attempt);
    const bool same = size.m == size.n && size.n == size.k;
    if (same == grain.square && std::find(taken.begin(), taken.end(), size) == taken.end()) {
      taken.push_back(size);
      return size;
    }
  }
}

template <class Element>
void shuffle(Element begin, Element end, SecretNumbers& numbers) {
  for (auto left = end - begin; left > 1; --left) {
    std::iter_swap(begin + (left - 1), begin + numbers.below(left));
  }
}

}  // namespace

Size near_size(const Size& asked, const Grain& grain, std::int64_t most, std::vector<Size>& taken,
               SecretNumbers& numbers) {
  const std::int64_t farthest = grain.step < 32 ? 4 : 1;  // pairs of steps
  return new_size(asked, grain, most, taken, [&](std::int64_t extent, std::size_t, std::int64_t attempt) {
    const std::int64_t steps = 2 * numbers.below(2 * farthest + attempt) - 2 * farthest;
    return odd_multiple(extent + steps * grain.step, grain.step);
  });
}

Parts drawn_parts(SecretNumbers& numbers) {
  Parts parts{32, 48, 64};
  shuffle(parts.begin(), parts.end(), numbers);
  return parts;
}

Parts reversed(const Parts& parts) { return {96 - parts[0], 96 - parts[1], 96 - parts[2]}; }

Size lopsided_size(const Size& asked, const Grain& grain, std::int64_t most, std::vector<Size>& taken,
                   const Parts& parts, SecretNumbers& numbers) {
  constexpr std::int64_t WHOLE = 64;
  return new_size(asked, grain, most, taken, [&](std::int64_t extent, std::size_t place, std::int64_t attempt) {
    const std::int64_t part = grain.square ? WHOLE / 2 : parts[place];
    const std::int64_t off = numbers.below(WHOLE / 8 + attempt);
    return odd_multiple(extent * part / WHOLE - off * extent / WHOLE + 2 * attempt * grain.step, grain.step);
  });
}

Size any_size(const Size& asked, const Grain& grain, std::int64_t most, std::vector<Size>& taken,
              SecretNumbers& numbers) {
  constexpr std::int64_t LEAST = 64;
  constexpr std::int64_t PARTS = 1024;
  return new_size(asked, grain, most, taken, [&](std::int64_t extent, std::size_t place, std::int64_t attempt) {
    const auto least = static_cast<double>(std::min(extent, LEAST));
    const double part = static_cast<double>(numbers.below(PARTS)) / PARTS;
    const auto drawn = static_cast<std::int64_t>(least * std::pow(static_cast<double>(extent) / least, part));
    // Where extents leave no choice, each goes a way of its own, and up only where it can not go down.
    const std::int64_t way =
        2 * grain.step * (grain.square ? attempt : numbers.below(attempt + 1) * static_cast<std::int64_t>(place));
    return odd_multiple(drawn - way >= grain.step ? drawn - way : drawn + way, grain.step);
  });
}

bool is_required(Distribution data) {
  constexpr std::array OF_PRODUCTS{AccuracyClass::fp32_split, AccuracyClass::bf16_split, AccuracyClass::fp16_split};
  const bool promised = std::all_of(OF_PRODUCTS.begin(), OF_PRODUCTS.end(),
                                    [&](AccuracyClass accuracy) { return promises(accuracy, data); });
  return promised && data != Distribution::inf && data != Distribution::nan;
}

std::vector<Distribution> hidden_kinds(SecretNumbers& numbers) {
  std::vector<Distribution> kinds(KINDS.begin(), KINDS.end());
  shuffle(kinds.begin(), kinds.end(), numbers);
  return kinds;
}

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

int number_of_launches(int most, std::uint64_t seed) {
  return most - static_cast<int>(seed % static_cast<std::uint64_t>(most / 2 + 1));
}

Size tiny_size(SecretNumbers& numbers) {
  constexpr std::int64_t END = 15;
  Size size;
  for (std::int64_t* const extent : {&size.m, &size.n, &size.k}) {
    *extent = 1 + numbers.below(END - 1);
  }
  return size;
}

std::vector<Size> decoy_sizes(const std::vector<Size>& asked, SecretNumbers& numbers) {
  constexpr std::size_t MOST_BETWEEN = 3;
  std::vector<Size> sizes = asked;
  std::ranges::sort(sizes, {}, [](const Size& size) { return products(size); });
  while (sizes.size() > MOST_BETWEEN + 2) {
    sizes.erase(sizes.begin() + 1 + numbers.below(static_cast<std::int64_t>(sizes.size()) - 2));
  }
  return sizes;
}

}  // namespace sgemm
