// Counts of the chapters: samples of their blocks tell the whole.

#include "base/kernel.hpp"
#include "counted_chapter.hpp"
#include "fixtures/tested_kernel.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace sgemm::test {
namespace {

struct CountedShape {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  float beta;
};

class CountedKernelTest : public testing::TestWithParam<const Kernel*> {
 protected:
  static bool some_left_out(const std::vector<LaunchCounts>& launches) {
    return std::any_of(launches.begin(), launches.end(),
                       [](const LaunchCounts& counts) { return counts.blocks_executed < counts.blocks; });
  }

  /// The counts by samples agree with those block by block.
  static void expect_whole(const CountedShape& shape, const std::vector<LaunchCounts>& sampled) {
    const std::vector<LaunchCounts> whole = count(shape, WHOLE);
    ASSERT_EQ(sampled.size(), whole.size());
    double flops = 0.0;
    double tensor_flops = 0.0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      EXPECT_TRUE(whole[i].whole());
      expect_same(sampled[i], whole[i]);
      flops += static_cast<double>(*whole[i].flops);
      tensor_flops += static_cast<double>(whole[i].tensor_flops);
    }
    const double products = static_cast<double>(shape.m * shape.n * shape.k);
    if (GetParam()->accuracy == AccuracyClass::fp32 || GetParam()->accuracy == AccuracyClass::fp32_strassen) {
      EXPECT_GE(flops, 2.0 * products);
      EXPECT_EQ(tensor_flops, 0.0);
    } else {
      EXPECT_LT(flops, 2.0 * products);
      EXPECT_GE(tensor_flops, 2.0 * products);
    }
  }

  static std::vector<LaunchCounts> count(const CountedShape& shape, const simt::CountingLimits& limits) {
    CountedProduct product(shape.m, shape.n, shape.k, shape.beta);
    const Prepared prepared = GetParam()->build(Target::for_checks).prepare(product.problem());
    return product.count_all([&](const Problem& p) { prepared(p, nullptr); }, limits);
  }

  static bool is_refused(const CountedShape& shape) {
    return GetParam()->unsupported(CountedProduct(shape.m, shape.n, shape.k).problem()).has_value();
  }

  static bool has_workspace(const CountedShape& shape) {
    return GetParam()
               ->build(Target::for_checks)
               .configurations(CountedProduct(shape.m, shape.n, shape.k).problem())
               .front()
               .workspace_bytes > 0;
  }
};

TEST_P(CountedKernelTest, SamplesTellTheWhole) {
  // With whole tiles and without; k fills a stage of every kernel, or not.
  for (const CountedShape& shape :
       {CountedShape{300, 333, 13, 0.0F}, CountedShape{70, 50, 90, 1.0F}, CountedShape{128, 144, 64, 0.0F}}) {
    if (!is_refused(shape)) {
      expect_whole(shape, count(shape, SAMPLED));
    }
  }
  CountedShape shape{125, 142, 72, -0.5F};
  if (is_refused(shape)) {
    return;
  }
  std::vector<LaunchCounts> sampled = count(shape, SAMPLED);
  // The larger its tiles, the larger the product of which a kernel's blocks need not all be executed.
  while (shape.m < 1000 && !some_left_out(sampled) && !has_workspace(shape)) {
    shape.m *= 2;
    shape.n *= 2;
    sampled = count(shape, SAMPLED);
  }
  // Blocks with a workspace may depend on each other.
  EXPECT_EQ(some_left_out(sampled), !has_workspace(shape));
  expect_whole(shape, sampled);
}

bool is_counted(const Kernel& kernel) { return static_cast<bool>(kernel.build(Target::for_checks)); }

INSTANTIATE_TEST_SUITE_P(Lengthy, CountedKernelTest, testing::ValuesIn(kernels_where(is_counted)),
                         [](const auto& info) { return test_name(info.param->id()); });

TEST(Counting, ElementsOfTheFirstWave) {
  // The tiling document's arithmetic: 64 tiles of 128 x 256 in a row need 128 rows of A and 16384 columns of B, and as
  // a square of 8 x 8 tiles, along the Hilbert curve, 1024 and 2048.
  constexpr std::int64_t K = 16;
  CountedProduct product(1024, 16384, K);
  const auto elements = [&](const std::string& id) {
    return product
        .count([&](const Problem& p) { find_kernel(id)->build(Target::for_checks).prepare(p)(p, nullptr); },
               NEVER_WHOLE)
        .elements_read_by_first(64);
  };
  EXPECT_EQ(elements("07_warptile_hilbert:row_order"), 16512U * K);
  EXPECT_EQ(elements("07_warptile_hilbert"), 3072U * K);
}

}  // namespace
}  // namespace sgemm::test
