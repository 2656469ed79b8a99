#include "problem/sizes.hpp"

#include "usage_message.hpp"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sgemm {
namespace {

std::vector<std::string> sizes(std::string_view expression) {
  std::vector<std::string> names;
  for (const Size& size : parse_sizes(expression)) {
    names.push_back(to_string(size));
  }
  return names;
}

std::string sizes_error(std::string_view expression) {
  return usage_message([&] { parse_sizes(expression); });
}

using Names = std::vector<std::string>;
const std::string FORM =
    "expected N, FIRST:LAST, FIRST:LAST:STEP, MxNxK or BATCHxMxNxK, and :nt, :tn or :tt if transposed";

TEST(Sizes, OperationsFollowAnySize) {
  const std::vector<Size> parsed = parse_sizes("7:nn,7:nt,7:tn,7:tt");
  ASSERT_EQ(parsed.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(parsed[i].transposed_a, i >= 2) << i;
    EXPECT_EQ(parsed[i].transposed_b, i % 2 == 1) << i;
  }
}

TEST(Sizes, FourNumbersBeginWithTheBatch) {
  const std::vector<Size> parsed = parse_sizes("96x4x5x6:nt");
  ASSERT_EQ(parsed.size(), 1U);
  EXPECT_EQ(parsed[0], (Size{4, 5, 6, false, true, 96}));
  EXPECT_EQ(to_string(parsed[0]), "96x4x5x6:nt");
  EXPECT_EQ(sizes("1x4x5x6"), Names{"4x5x6"});
}

TEST(Sizes, NamesOfSizesAreSizes) {
  for (const std::string name : {"4x5x6", "4x5x6:nt", "96x4x5x6", "96x4x5x6:tt"}) {
    EXPECT_EQ(sizes(name), Names{name});
  }
}

TEST(Sizes, ShapeHasAllOfASize) {
  constexpr Size SIZE{4, 5, 6, true, false, 96};
  const Shape shape = shape_of(SIZE, 1.5F, -0.5F);
  EXPECT_EQ(shape.alpha, 1.5F);
  EXPECT_EQ(shape.beta, -0.5F);
  EXPECT_TRUE(shape.transposed_a);
  EXPECT_FALSE(shape.transposed_b);
  EXPECT_EQ(flops(shape), 2.0 * 96 * 4 * 5 * 6);
  EXPECT_EQ(flops(SIZE), flops(shape));
}

TEST(Sizes, ExpressionsStandForSizesInTheirOrder) {
  for (const auto& [expression, names] : std::vector<std::pair<std::string, std::string>>{
           {"1000", "1000x1000x1000"},
           {"4096x128x64", "4096x128x64"},
           {"7:nn,7:nt", "7x7x7 7x7x7:nt"},
           {"4x5x6:tn", "4x5x6:tn"},
           {"2:4:tt", "2x2x2:tt 4x4x4:tt"},
           {"10:14:4:nt", "10x10x10:nt 14x14x14:nt"},
           {"256:1024", "256x256x256 512x512x512 1024x1024x1024"},  // a range doubles
           {"3:20", "3x3x3 6x6x6 12x12x12"},                        // and ends at or before its last
           {"7:7", "7x7x7"},
           {"10:20:4", "10x10x10 14x14x14 18x18x18"},
           {"10:18:4", "10x10x10 14x14x14 18x18x18"},
           {"10:11:100", "10x10x10"},
           {"1000,64x32x16,2:4,1500", "1000x1000x1000 64x32x16 2x2x2 4x4x4 1500x1500x1500"},
           {"8,4,2:8,4x4x4,8", "8x8x8 4x4x4 2x2x2"},  // each once
           {"1", "1x1x1"},
           {"2147483647x1x1", "2147483647x1x1"},
           {"1073741824", "1073741824x1073741824x1073741824"},
           {"1073741824:2147483647", "1073741824x1073741824x1073741824"},
           {"1073741824x1x1073741824x1", "1073741824x1x1073741824x1"}}) {
    EXPECT_EQ(fmt::to_string(fmt::join(sizes(expression), " ")), names) << expression;
  }
  const std::vector<Size> parsed = parse_sizes("256:8192:256");
  ASSERT_EQ(parsed.size(), 32U);
  EXPECT_EQ(parsed.back(), (Size{8192, 8192, 8192}));
  EXPECT_EQ(parse_sizes("1:100000:1").size(), 100000U);
  EXPECT_EQ(parse_sizes("4096x128x64").front(), (Size{4096, 128, 64}));
}

TEST(Sizes, MalformedTermsAreNamed) {
  for (const std::string term :
       {"abc", "12a",     "a12",  "1.5",     "1e3",        "+5",     "-",    "0x10",      "256:",    ":256",
        ":",   "1:2:3:4", "1::2", "1:2:",    "4x4",        "4x4x",   "x4x4", "4x4x4x4x4", "4x4x4:8", "4:8x8x8",
        "2-4", " 256",    "256 ", "25 6",    "1 000",      "4 x4x4", "\t1",  "4x4x4x",    "4:",      ":nt",
        "4:n", "4:nx",    "4:NT", "4:nt:nt", "4x4x4:nt:8", "4:ntn",  "4nt",  "nt"}) {
    const std::string one_line = term == "\t1" ? "?1" : term;
    EXPECT_EQ(sizes_error(term), "bad size '" + one_line + "': " + FORM);
  }
  EXPECT_EQ(sizes_error("256,oops,512"), "bad size 'oops': " + FORM);
  EXPECT_EQ(sizes_error("256, 512"), "bad size ' 512': " + FORM);
  EXPECT_EQ(sizes_error("4X4X4"), "bad size '4X4X4': dimensions stand around a small x, as in 4x4x4");
}

TEST(Sizes, WhatIsWrongIsSaidInASentence) {
  for (const std::string expression : {"", ",", "256,", ",256", "256,,512"}) {
    EXPECT_EQ(sizes_error(expression), "bad sizes '" + expression + "': a term is empty");
  }
  const std::string many = " has more than 2^60 elements";
  for (const auto& [term, message] : std::vector<std::pair<std::string, std::string>>{
           {"1073741825", "a matrix of 1073741825x1073741825x1073741825" + many},
           {"2147483647x2147483647x1", "a matrix of 2147483647x2147483647x1" + many},
           {"2147483647x1x2147483647", "a matrix of 2147483647x1x2147483647" + many},
           {"1x2147483647x2147483647", "a matrix of 1x2147483647x2147483647" + many},
           {"1610612736:2147483647", "a matrix of 1610612736x1610612736x1610612736" + many},
           {"1073741825x1x1073741824x1", "an operand of 1073741825x1x1073741824x1" + many},
           {"99999999999999999999z", FORM},
           {"512:256", "the range is empty, 512 is above 256"},
           {"512:256:64", "the range is empty, 512 is above 256"},
           {"1:100001:1", "the range has 100001 sizes, more than 100000"},
           {"1:2147483647:1", "the range has 2147483647 sizes, more than 100000"}}) {
    EXPECT_EQ(sizes_error(term), "bad size '" + term + "': " + message);
  }
  EXPECT_EQ(sizes_error("1\n2"), "bad size '1?2': " + FORM) << "in one line";
}

TEST(Sizes, NumbersHaveLimits) {
  for (const auto& [term, number] :
       std::vector<std::pair<std::string, std::string>>{{"0", "0"},
                                                        {"-5", "-5"},
                                                        {"4x0x4", "0"},
                                                        {"4x4x0", "0"},
                                                        {"4x-4x4", "-4"},
                                                        {"0:8", "0"},
                                                        {"8:-8", "-8"},
                                                        {"8:16:0", "0"},
                                                        {"8:16:-8", "-8"},
                                                        {"0x4x4x4:nt", "0"},
                                                        {"2147483648x1x1", "2147483648"},
                                                        {"99999999999999999999", "99999999999999999999"},
                                                        {"1:-99999999999999999999", "-99999999999999999999"}}) {
    EXPECT_EQ(sizes_error(term), "bad size '" + term + "': " + number + " is not between 1 and 2147483647");
  }
}

}  // namespace
}  // namespace sgemm
