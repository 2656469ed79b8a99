#include "divisor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace sgemm {
namespace {

constexpr int LARGEST = std::numeric_limits<int>::max();

TEST(DivisorTest, DividesAsTheLanguageDoes) {
  for (const int value :
       {1, 2, 3, 5, 7, 8, 9, 64, 100, 132, 641, 65535, 65536, 65537, LARGEST / 2, LARGEST - 1, LARGEST}) {
    const Divisor divisor(value);
    const auto check = [&](int number) {
      ASSERT_EQ(divisor(number), number / value) << number << " / " << value;
      ASSERT_EQ(divisor.rest(number), number % value) << number << " / " << value;
    };
    for (int number = 0; number < 1000; ++number) {
      check(number);
      check(LARGEST - number);
    }
    const std::int64_t step = std::max(1, LARGEST / 1000 / value) * std::int64_t{value};
    for (std::int64_t multiple = value; multiple <= LARGEST; multiple += step) {
      check(static_cast<int>(multiple - 1));  // where a reciprocal that is too large or too small shows
      check(static_cast<int>(multiple));
    }
  }
}

}  // namespace
}  // namespace sgemm
