// Counts of the chapters: samples of their blocks tell the whole.

#include "counted_product.hpp"
#include "host/kernel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace sgemm::test {
namespace {

TEST(Counting, SamplesOfEveryChapterTellTheWhole) {
  struct Shape {
    std::int64_t m;
    std::int64_t n;
    std::int64_t k;
    float beta;
    bool sampled;  ///< there are enough blocks for all kernels without workspaces, and k fills a stage of each
  };
  for (const Shape& shape : {Shape{1024, 1152, 64, 0.0F, true}, Shape{1000, 1150, 72, -0.5F, true},
                             Shape{300, 333, 13, 0.0F, false}, Shape{70, 50, 90, 1.0F, false}}) {
    for (const Kernel& kernel : kernels()) {
      if (!kernel.prepare_checked) {
        continue;
      }
      SCOPED_TRACE(kernel.id() + " " + std::to_string(shape.m) + "x" + std::to_string(shape.n));
      CountedProduct product(shape.m, shape.n, shape.k, shape.beta);
      const Prepared prepared = kernel.prepare_checked(product.problem());
      const auto launch = [&](const Problem& p) { prepared.launch(p, nullptr); };
      const std::vector<LaunchCounts> whole = product.count_all(launch, WHOLE);
      const std::vector<LaunchCounts> sampled = product.count_all(launch, SAMPLED);
      ASSERT_EQ(sampled.size(), whole.size());
      double flops = 0.0;
      for (std::size_t i = 0; i < whole.size(); ++i) {
        EXPECT_TRUE(whole[i].whole());
        if (prepared.workspace_bytes > 0) {  // its blocks may depend on each other
          EXPECT_TRUE(sampled[i].whole());
        } else {
          EXPECT_TRUE(!shape.sampled || sampled[i].blocks_executed < sampled[i].blocks) << sampled[i].blocks_executed;
        }
        expect_same(sampled[i], whole[i]);
        flops += static_cast<double>(*whole[i].flops);
      }
      const double products = static_cast<double>(shape.m * shape.n * shape.k);
      if (kernel.accuracy == AccuracyClass::fp32) {
        EXPECT_GE(flops, 2.0 * products);
      } else {  // those of tensor cores are not counted
        EXPECT_LT(flops, 2.0 * products);
      }
    }
  }
}

TEST(Counting, ElementsOfTheFirstWave) {
  // The tiling document's arithmetic: 64 tiles of 128 x 256 in a row need 128 rows of A and 16384 columns of B, and as
  // a square of 8 x 8 tiles, along the Hilbert curve, 1024 and 2048.
  constexpr std::int64_t K = 16;
  CountedProduct product(1024, 16384, K);
  const auto elements = [&](const std::string& id) {
    const auto kernel = std::find_if(kernels().begin(), kernels().end(), [&](const Kernel& k) { return k.id() == id; });
    return product.count([&](const Problem& p) { kernel->prepare_checked(p).launch(p, nullptr); }, NEVER_WHOLE)
        .elements_read_by_first(64);
  };
  EXPECT_EQ(elements("07_warptile_hilbert:row_order"), 16512U * K);
  EXPECT_EQ(elements("07_warptile_hilbert"), 3072U * K);
}

}  // namespace
}  // namespace sgemm::test
