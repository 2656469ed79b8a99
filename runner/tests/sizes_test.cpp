#include "problem/sizes.hpp"

#include "page.hpp"
#include "problem/batch.hpp"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sgemm {
namespace {

TEST(Sizes, ExpressionsStandForSizesInTheirOrder) {
  expect_answers("sizes.txt", [](const std::string& expression) {
    std::vector<std::string> names;
    for (const Size& size : parse_sizes(expression)) {
      names.push_back(to_string(size));
      EXPECT_EQ(parse_sizes(names.back()), std::vector{size}) << "a name is an expression";
    }
    return fmt::to_string(fmt::join(names, " "));
  });
  EXPECT_EQ(parse_sizes("256:8192:256").size(), 32U);
  EXPECT_EQ(parse_sizes("1:100000:1").size(), 100000U);
  EXPECT_THROW(parse_sizes("\t1"), UsageError);
}

TEST(Sizes, ShapeHasAllOfASize) {
  const Size size = parse_sizes("96x4x5x6:tn").front();
  EXPECT_EQ(size, (Size{4, 5, 6, true, false, 96}));
  EXPECT_EQ(parse_sizes("7:nt").front(), (Size{7, 7, 7, false, true}));
  const Shape shape = shape_of(size, 1.5F, -0.5F);
  EXPECT_EQ(shape.alpha, 1.5F);
  EXPECT_EQ(shape.beta, -0.5F);
  EXPECT_TRUE(shape.transposed_a);
  EXPECT_FALSE(shape.transposed_b);
  EXPECT_EQ(flops(shape), 2.0 * 96 * 4 * 5 * 6);
  EXPECT_EQ(flops(size), flops(shape));
}

}  // namespace
}  // namespace sgemm
