#include "judge/hidden.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

namespace sgemm {
namespace {

/// A secret that differs in its last digits.
Secret secret_of(int number) { return Secret::parse(fmt::format("{:032x}", number)); }

const std::vector<Size> ASKED{{1024, 1024, 1024}, {32, 8192, 8192}, {1, 1, 1}, {300, 5000, 700}, {2, 3, 5}};

/// All sizes that a secret makes next to ASKED.
std::vector<Size> drawn(const Secret& secret, const Grain& grain, std::int64_t most, std::vector<Size> taken = ASKED) {
  SecretNumbers numbers(secret);
  std::vector<Size> sizes;
  for (const Size& asked : ASKED) {
    sizes.push_back(near_size(asked, grain, most, taken, numbers));
    sizes.push_back(lopsided_size(asked, grain, most, taken, drawn_parts(numbers), numbers));
  }
  return sizes;
}

TEST(HiddenSizes, AreOddMultiplesOfTheGrainThatNobodyAskedForAndNoneTwice) {
  for (int number = 0; number < 50; ++number) {
    for (const Grain& grain : GRAINS) {
      const std::vector<Size> sizes = drawn(secret_of(number), grain, 1536);
      std::set<Size> all(ASKED.begin(), ASKED.end());
      all.insert(sizes.begin(), sizes.end());
      EXPECT_EQ(all.size(), ASKED.size() + sizes.size()) << number << ", " << grain.step;
      for (const Size& size : sizes) {
        for (const std::int64_t extent : {size.m, size.n, size.k}) {
          EXPECT_GT(extent, 0);
          EXPECT_EQ(extent % (2 * grain.step), grain.step) << to_string(size);
        }
        EXPECT_EQ(grain.square, size.m == size.n && size.n == size.k) << to_string(size);
      }
    }
  }
}

TEST(HiddenSizes, AreNearWhatWasAskedForAndVaryInAllExtents) {
  constexpr std::int64_t MOST = 1536;
  std::array<std::set<std::int64_t>, 3> drawn;
  std::set<std::int64_t> longest;
  for (int number = 0; number < 200; ++number) {
    SecretNumbers numbers(secret_of(number));
    std::vector<Size> taken{ASKED[0]};
    const Size near = near_size(ASKED[0], {}, MOST, taken, numbers);
    const Parts parts = drawn_parts(numbers);
    const Size lopsided = lopsided_size(ASKED[0], {}, MOST, taken, parts, numbers);
    const Size other = lopsided_size(ASKED[0], {}, MOST, taken, reversed(parts), numbers);
    EXPECT_EQ(std::tuple(lopsided.m < lopsided.n, lopsided.n < lopsided.k, lopsided.m < lopsided.k),
              std::tuple(other.m > other.n, other.n > other.k, other.m > other.k))
        << to_string(lopsided) << ' ' << to_string(other);
    const Size bounded = near_size({8192, 8192, 8192}, {}, MOST, taken, numbers);
    for (const auto& [place, extent] : {std::pair(0U, near.m), {1U, near.n}, {2U, near.k}}) {
      EXPECT_LE(std::abs(extent - 1024), 16);
      drawn.at(place).insert(extent);
    }
    EXPECT_LE(std::max({bounded.m, bounded.n, bounded.k}), MOST + 16);
    const std::set<std::int64_t> extents{lopsided.m, lopsided.n, lopsided.k};
    EXPECT_GE(*extents.rbegin() - *extents.begin(), 1024 / 4) << to_string(lopsided);
    EXPECT_GE(*extents.begin(), 1024 / 4);
    EXPECT_LE(*extents.rbegin(), 1024);
    longest.insert(lopsided.m == *extents.rbegin() ? 0 : lopsided.n == *extents.rbegin() ? 1 : 2);
  }
  EXPECT_GE(std::min({drawn[0].size(), drawn[1].size(), drawn[2].size()}), 6U);
  EXPECT_EQ(longest.size(), 3U) << "each extent is the longest for some secret";
}

TEST(HiddenKinds, AreAllInAnOrderOfTheSecret) {
  std::set<std::vector<Distribution>> orders;
  std::set<Distribution> first;
  for (int number = 0; number < 400; ++number) {
    SecretNumbers numbers(secret_of(number));
    SecretNumbers same(secret_of(number));
    const std::vector<Distribution> kinds = hidden_kinds(numbers);
    EXPECT_EQ(kinds, hidden_kinds(same));
    EXPECT_EQ(std::set<Distribution>(kinds.begin(), kinds.end()).size(), DISTRIBUTIONS.size() + DECOYS.size());
    EXPECT_EQ(kinds.size(), DISTRIBUTIONS.size() + DECOYS.size());
    orders.insert(kinds);
    first.insert(kinds.front());
  }
  EXPECT_EQ(orders.size(), 400U);
  EXPECT_EQ(first.size(), DISTRIBUTIONS.size() + DECOYS.size()) << "any comes first";
}

TEST(HiddenKinds, AreRequiredWhereSplitOperandsKeepThem) {
  const std::set<Distribution> told{Distribution::denormals, Distribution::lognormal4, Distribution::inf,
                                    Distribution::nan};
  SecretNumbers numbers(secret_of(1));
  for (const Distribution data : hidden_kinds(numbers)) {
    EXPECT_EQ(is_required(data), !told.contains(data)) << to_string(data);
  }
}

/// A kernel may take uniform operands for granted where it is too large to be compared with others.
TEST(DecoySizes, AreTheSmallestAndTheLargestAndSomeBetween) {
  SecretNumbers numbers(secret_of(1));
  const Size small{64, 64, 64};
  const Size middle{512, 512, 512};
  const Size large{1, 70000, 8192};
  EXPECT_EQ(decoy_sizes({middle, large, small}, numbers), (std::vector{small, middle, large}));
  EXPECT_EQ(decoy_sizes({large}, numbers), std::vector{large});
  std::vector<Size> many{small, large};
  std::set<std::int64_t> between;
  for (std::int64_t extent = 100; extent < 110; ++extent) {
    many.push_back({extent, extent, extent});
  }
  for (int i = 0; i < 100; ++i) {
    const std::vector<Size> sizes = decoy_sizes(many, numbers);
    ASSERT_EQ(sizes.size(), 5U);
    EXPECT_EQ(sizes.front(), small);
    EXPECT_EQ(sizes.back(), large);
    between.insert({sizes[1].m, sizes[2].m, sizes[3].m});
  }
  EXPECT_EQ(between.size(), 10U) << "any may be drawn";
}

TEST(TinySizes, HaveAllExtentsUpToFourteen) {
  SecretNumbers numbers(secret_of(1));
  std::set<std::int64_t> extents;
  for (int i = 0; i < 200; ++i) {
    const Size size = tiny_size(numbers);
    extents.insert({size.m, size.n, size.k});
  }
  EXPECT_EQ(extents.size(), 14U);
  EXPECT_EQ(*extents.begin(), 1);
  EXPECT_EQ(*extents.rbegin(), 14);
}

/// Between the small hidden sizes and those that were asked for a kernel may be another one.
TEST(AnySizes, AreOfAllProportions) {
  SecretNumbers numbers(secret_of(1));
  std::vector<Size> taken;
  std::array<int, 4> octaves{};
  int flat = 0;
  for (int i = 0; i < 400; ++i) {
    const Size size = any_size({4096, 1024, 1024}, Grain{8}, 2048, taken, numbers);
    for (const std::int64_t extent : {size.n, size.k}) {
      ASSERT_GE(extent, 56);
      ASSERT_LE(extent, 1024);
      ASSERT_EQ(extent % 16, 8);
      ++octaves.at(static_cast<std::size_t>(std::log2(std::max<double>(64, static_cast<double>(extent)) / 64) * 0.999));
    }
    ASSERT_LE(size.m, 2048) << "as far as is allowed";
    flat += size.m > 4 * size.n ? 1 : 0;
  }
  EXPECT_GT(*std::ranges::min_element(octaves), 130);
  EXPECT_GT(flat, 60);
  for (const std::int64_t extent : {1, 48, 64, 128, 256}) {  // which leave no choice
    for (const std::int64_t step : {1, 8, 128, 256}) {
      const Size close = any_size({extent, extent, extent}, Grain{step}, 2048, taken, numbers);
      EXPECT_FALSE(close.m == close.n && close.n == close.k);
    }
  }
  const Size square = any_size({1, 1, 1}, Grain{32, true}, 2048, taken, numbers);
  EXPECT_EQ(square.m, square.n);
}

TEST(NumbersOfLaunches, AreAnyFromHalfOfTheMostOn) {
  for (const int most : {1, 2, 7, 32}) {
    SecretNumbers numbers(secret_of(1));
    std::set<int> drawn;
    for (int i = 0; i < 500; ++i) {
      drawn.insert(number_of_launches(most, numbers.next()));
    }
    EXPECT_EQ(*drawn.begin(), most - most / 2);
    EXPECT_EQ(*drawn.rbegin(), most);
    EXPECT_EQ(drawn.size(), static_cast<std::size_t>(most / 2 + 1));
  }
}

}  // namespace
}  // namespace sgemm
