#include "problem/sizes.hpp"

#include "usage_message.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
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

TEST(Sizes, SingleNumberIsASquare) { EXPECT_EQ(sizes("1000"), Names{"1000x1000x1000"}); }

TEST(Sizes, ThreeDimensionsAreMThenNThenK) {
  const std::vector<Size> parsed = parse_sizes("4096x128x64");
  ASSERT_EQ(parsed.size(), 1U);
  EXPECT_EQ(parsed[0].m, 4096);
  EXPECT_EQ(parsed[0].n, 128);
  EXPECT_EQ(parsed[0].k, 64);
  EXPECT_EQ(to_string(parsed[0]), "4096x128x64");
}

TEST(Sizes, OperationsFollowAnySize) {
  const std::vector<Size> parsed = parse_sizes("7:nn,7:nt,7:tn,7:tt");
  ASSERT_EQ(parsed.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(parsed[i].transposed_a, i >= 2) << i;
    EXPECT_EQ(parsed[i].transposed_b, i % 2 == 1) << i;
  }
  EXPECT_EQ(sizes("7:nn,7:nt"), (Names{"7x7x7", "7x7x7:nt"}));
  EXPECT_EQ(sizes("4x5x6:tn"), Names{"4x5x6:tn"});
  EXPECT_EQ(sizes("2:4:tt"), (Names{"2x2x2:tt", "4x4x4:tt"}));
  EXPECT_EQ(sizes("10:14:4:nt"), (Names{"10x10x10:nt", "14x14x14:nt"}));
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

TEST(Sizes, RangeDoubles) {
  EXPECT_EQ(sizes("256:1024"), (Names{"256x256x256", "512x512x512", "1024x1024x1024"}));
  EXPECT_EQ(parse_sizes("256:8192").size(), 6U);
}

TEST(Sizes, RangeEndsAtOrBeforeItsLast) {
  EXPECT_EQ(sizes("3:20"), (Names{"3x3x3", "6x6x6", "12x12x12"}));
  EXPECT_EQ(sizes("7:7"), Names{"7x7x7"});
  EXPECT_EQ(sizes("10:20:4"), (Names{"10x10x10", "14x14x14", "18x18x18"}));
  EXPECT_EQ(sizes("10:18:4"), (Names{"10x10x10", "14x14x14", "18x18x18"}));
  EXPECT_EQ(sizes("10:11:100"), Names{"10x10x10"});
}

TEST(Sizes, RangeSteps) {
  const std::vector<Size> parsed = parse_sizes("256:8192:256");
  ASSERT_EQ(parsed.size(), 32U);
  for (std::size_t i = 0; i < parsed.size(); ++i) {
    const auto dimension = static_cast<std::int64_t>(256 * (i + 1));
    EXPECT_EQ(parsed[i], (Size{dimension, dimension, dimension}));
  }
}

TEST(Sizes, TermsMixAndKeepTheirOrder) {
  EXPECT_EQ(sizes("1000,64x32x16,2:4,1500"), (Names{"1000x1000x1000", "64x32x16", "2x2x2", "4x4x4", "1500x1500x1500"}));
}

TEST(Sizes, DuplicatesKeepTheirFirstPlace) { EXPECT_EQ(sizes("8,4,2:8,4x4x4,8"), (Names{"8x8x8", "4x4x4", "2x2x2"})); }

TEST(Sizes, LimitsAreAccepted) {
  EXPECT_EQ(sizes("1"), Names{"1x1x1"});
  EXPECT_EQ(sizes("2147483647x1x1"), Names{"2147483647x1x1"});
  EXPECT_EQ(sizes("1073741824"), Names{"1073741824x1073741824x1073741824"});
  EXPECT_EQ(parse_sizes("1:100000:1").size(), 100000U);
  EXPECT_EQ(sizes("1073741824:2147483647"), Names{"1073741824x1073741824x1073741824"});
}

TEST(Sizes, EmptyTerms) {
  EXPECT_EQ(sizes_error(""), "bad sizes '': a term is empty");
  EXPECT_EQ(sizes_error(","), "bad sizes ',': a term is empty");
  EXPECT_EQ(sizes_error("256,"), "bad sizes '256,': a term is empty");
  EXPECT_EQ(sizes_error(",256"), "bad sizes ',256': a term is empty");
  EXPECT_EQ(sizes_error("256,,512"), "bad sizes '256,,512': a term is empty");
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

TEST(Sizes, ZeroAndNegative) {
  EXPECT_EQ(sizes_error("0"), "bad size '0': 0 is not between 1 and 2147483647");
  EXPECT_EQ(sizes_error("-5"), "bad size '-5': -5 is not between 1 and 2147483647");
  EXPECT_EQ(sizes_error("4x0x4"), "bad size '4x0x4': 0 is not between 1 and 2147483647");
  EXPECT_EQ(sizes_error("4x4x0"), "bad size '4x4x0': 0 is not between 1 and 2147483647");
  EXPECT_EQ(sizes_error("4x-4x4"), "bad size '4x-4x4': -4 is not between 1 and 2147483647");
  EXPECT_EQ(sizes_error("0:8"), "bad size '0:8': 0 is not between 1 and 2147483647");
  EXPECT_EQ(sizes_error("8:-8"), "bad size '8:-8': -8 is not between 1 and 2147483647");
  EXPECT_EQ(sizes_error("8:16:0"), "bad size '8:16:0': 0 is not between 1 and 2147483647");
  EXPECT_EQ(sizes_error("8:16:-8"), "bad size '8:16:-8': -8 is not between 1 and 2147483647");
}

TEST(Sizes, DimensionsThatOverflow) {
  EXPECT_EQ(sizes_error("2147483648x1x1"), "bad size '2147483648x1x1': 2147483648 is not between 1 and 2147483647");
  EXPECT_EQ(sizes_error("99999999999999999999"),
            "bad size '99999999999999999999': 99999999999999999999 is not between 1 and 2147483647");
  EXPECT_EQ(sizes_error("1:-99999999999999999999"),
            "bad size '1:-99999999999999999999': -99999999999999999999 is not between 1 and 2147483647");
  EXPECT_EQ(sizes_error("99999999999999999999z"), "bad size '99999999999999999999z': " + FORM);
}

TEST(Sizes, MatricesThatOverflow) {
  const std::string many = " has more than 2^60 elements";
  EXPECT_EQ(sizes_error("1073741825"), "bad size '1073741825': a matrix of 1073741825x1073741825x1073741825" + many);
  for (const std::string term : {"2147483647x2147483647x1", "2147483647x1x2147483647", "1x2147483647x2147483647"}) {
    EXPECT_EQ(sizes_error(term), "bad size '" + term + "': a matrix of " + term + many);
  }
  EXPECT_EQ(sizes_error("1610612736:2147483647"),
            "bad size '1610612736:2147483647': a matrix of 1610612736x1610612736x1610612736" + many);
}

TEST(Sizes, BatchesThatOverflow) {
  EXPECT_EQ(sizes("1073741824x1x1073741824x1"), Names{"1073741824x1x1073741824x1"});
  EXPECT_EQ(
      sizes_error("1073741825x1x1073741824x1"),
      "bad size '1073741825x1x1073741824x1': an operand of 1073741825x1x1073741824x1 has more than 2^60 elements");
  EXPECT_EQ(sizes_error("0x4x4x4:nt"), "bad size '0x4x4x4:nt': 0 is not between 1 and 2147483647");
}

TEST(Sizes, EmptyRange) {
  EXPECT_EQ(sizes_error("512:256"), "bad size '512:256': the range is empty, 512 is above 256");
  EXPECT_EQ(sizes_error("512:256:64"), "bad size '512:256:64': the range is empty, 512 is above 256");
}

TEST(Sizes, RangeTooLong) {
  EXPECT_EQ(sizes_error("1:100001:1"), "bad size '1:100001:1': the range has 100001 sizes, more than 100000");
  EXPECT_EQ(sizes_error("1:2147483647:1"),
            "bad size '1:2147483647:1': the range has 2147483647 sizes, more than 100000");
}

TEST(Sizes, MessagesAreOneLine) { EXPECT_EQ(sizes_error("1\n2"), "bad size '1?2': " + FORM); }

}  // namespace
}  // namespace sgemm
