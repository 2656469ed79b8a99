// Every chapter on the executor against double precision, on the shapes of the GPU's tests.

#include "base/kernel.hpp"
#include "fixtures/known_kernels.hpp"
#include "fixtures/reference_case.hpp"
#include "fixtures/tested_kernel.hpp"
#include "problem/operands.hpp"
#include "simt/device.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace sgemm::test {
namespace {

/// The build with sanitizers, which watches what hosts do, has ragged products alone, and of chapter 10 one variant.
bool is_lengthy(const KernelAndGroup& item) {
  return item.group.name != "primes" || item.kernel->variant == "single_sum";
}

/// Reproducible kernels have but one lengthy test, that of their bits.
std::vector<KernelAndGroup> executed_kernels_and_groups(bool lengthy) {
  std::vector<KernelAndGroup> all = kernels_and_groups(Platform::gpu, FEW_PRODUCTS);
  std::erase_if(all, [&](const auto& item) {
    return !item.kernel->build(Target::for_executor) || is_lengthy(item) != lengthy ||
           (lengthy && item.kernel->is_reproducible());
  });
  return all;
}

class ExecutedKernelTest : public testing::TestWithParam<KernelAndGroup> {};

TEST_P(ExecutedKernelTest, AgreesWithDoublePrecision) {
  const Kernel& kernel = *GetParam().kernel;
  for (const ProductCase& product : GetParam().group.cases) {
    SCOPED_TRACE(product.describe());
    const ReferenceCase expected(product);
    const Problem& shape = expected.host.shape;
    if (const std::optional<std::string> reason = kernel.unsupported(shape)) {
      EXPECT_FALSE(takes_every_product(kernel)) << *reason;
      continue;
    }
    const Verdict verdict = expected.run(kernel.build(Target::for_executor).prepare(shape), kernel.accuracy);
    EXPECT_TRUE(verdict.correct()) << verdict.describe();
    EXPECT_EQ(verdict.compared, product.m * product.n);
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, ExecutedKernelTest, testing::ValuesIn(executed_kernels_and_groups(false)), NAMED);
INSTANTIATE_TEST_SUITE_P(Lengthy, ExecutedKernelTest, testing::ValuesIn(executed_kernels_and_groups(true)), NAMED);

TEST(ExecutedKernels, EachHasAShortProduct) {
  std::set<const Kernel*> seen;
  for (const KernelAndGroup& item : executed_kernels_and_groups(false)) {
    seen.insert(item.kernel);
  }
  for (const Kernel& kernel : kernels()) {
    const bool is_expected = kernel.build(Target::for_executor) && kernel.id() != "10_tf32x3:single_sum";
    EXPECT_EQ(seen.count(&kernel) == 1, is_expected) << kernel.id();
  }
}

// Of one product, each FP32 kernel has the same bits, whether it stores elements or vectors.
TEST(ExecutedKernels, RoundTheProductByAlphaAndTheSumWithBetaTimesC) {
  for (const ProductCase& product : {ProductCase{128, 128, 1, 0.3F, 0.7F}, ProductCase{63, 61, 1, 0.3F, 0.7F}}) {
    const HostCase host(product);
    for (const Kernel& kernel : kernels()) {
      if (kernel.accuracy != AccuracyClass::fp32 || !kernel.build(Target::for_executor) ||
          kernel.unsupported(host.shape)) {
        continue;
      }
      SCOPED_TRACE(kernel.id());
      Matrix c = host.c;
      const Problem p = host.problem(c);
      kernel.build(Target::for_executor).prepare(host.shape)(p, nullptr);
      for (std::int64_t i = 0; i < p.m * p.n; ++i) {
        const std::int64_t row = i / p.n;
        const std::int64_t column = i % p.n;
        const float old = host.c.data()[row * p.ldc + column];
        const float expected = std::fma(p.beta, old, p.alpha * (p.a[row * p.lda] * p.b[column]));
        ASSERT_EQ(p.c[row * p.ldc + column], expected) << row << ", " << column;
      }
    }
  }
}

/// A device of few multiprocessors, on which a small product has many tiles, and long shares.
class FewMultiprocessors {
 public:
  explicit FewMultiprocessors(int count) { simt::set_multiprocessors(count); }
  FewMultiprocessors(const FewMultiprocessors&) = delete;
  FewMultiprocessors& operator=(const FewMultiprocessors&) = delete;
  ~FewMultiprocessors() { simt::set_multiprocessors(0); }
};

/// Runs a configuration twice: the second launch finds the workspace as the first has left it.
void expect_right(const ReferenceCase& expected, const Kernel& kernel, const std::string& configuration) {
  SCOPED_TRACE(kernel.id() + ", " + configuration);
  const Prepared prepared = prepare_named(kernel.build(Target::for_executor), expected.host.shape, configuration);
  EXPECT_TRUE(expected.run(prepared, kernel.accuracy).correct());
  EXPECT_TRUE(expected.run(prepared, kernel.accuracy).correct());
}

/// With shares of k that end within tiles, tiles that hang over C's edges, and few tiles and many.
const std::vector<ProductCase> CONFIGURED_PRODUCTS{
    {129, 257, 65}, {200, 150, 1000}, {390, 520, 130}, {1150, 100, 1000}};
/// On six multiprocessors, where rows of B split into groups of four and where they do not.
const std::vector<ProductCase> MANY_TILES{{500, 1000, 40}, {1000, 501, 40}};

using KernelAndProduct = std::tuple<const Kernel*, ProductCase>;

/// The build with sanitizers has the first product, with chapter 09.
std::vector<KernelAndProduct> configured_kernels_and_products(bool lengthy) {
  std::vector<KernelAndProduct> all;
  for (const Kernel& kernel : kernels()) {
    for (const ProductCase& product : CONFIGURED_PRODUCTS) {
      const bool is_first = &product == &CONFIGURED_PRODUCTS.front();
      // The 343 products of chapter 18 have a whole tile each: one product of many tiles takes a minute.
      if (kernel.tunable && (kernel.number != 9 || !is_first) == lengthy && (kernel.number != 18 || is_first)) {
        all.emplace_back(&kernel, product);
      }
    }
  }
  return all;
}

class ConfiguredKernelTest : public testing::TestWithParam<KernelAndProduct> {};

TEST_P(ConfiguredKernelTest, IsRightInEveryConfiguration) {
  const auto& [kernel, product] = GetParam();
  const ReferenceCase expected(product);
  for (const Configuration& configuration : kernel->build(Target::for_executor).configurations(expected.host.shape)) {
    expect_right(expected, *kernel, configuration.name);
  }
}

std::string name_of(const testing::TestParamInfo<ConfiguredKernelTest::ParamType>& info) {
  const auto& [kernel, product] = info.param;
  return test_name(fmt::format("{}_{}x{}x{}", kernel->id(), product.m, product.n, product.k));
}

INSTANTIATE_TEST_SUITE_P(Registered, ConfiguredKernelTest, testing::ValuesIn(configured_kernels_and_products(false)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Lengthy, ConfiguredKernelTest, testing::ValuesIn(configured_kernels_and_products(true)),
                         name_of);

TEST(LengthyExecutedChapters, ManyTilesInEveryConfiguration) {
  const FewMultiprocessors six(6);
  const Kernel& kernel = *find_kernel("09_every_shape");
  for (const ProductCase& product : MANY_TILES) {
    const ReferenceCase expected(product);
    for (const Configuration& each : kernel.build(Target::for_executor).configurations(expected.host.shape)) {
      expect_right(expected, kernel, each.name);
    }
  }
}

/// What is expected of a build with all chapters.
class ExecutedChapters : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string_view(SGEMM_EXECUTOR_CHAPTERS) != ".") {
      GTEST_SKIP() << "this build has the chapters " << SGEMM_EXECUTOR_CHAPTERS;
    }
  }
};
class LengthyAllChapters : public ExecutedChapters {};

// 12 tiles of 64x128 for 13 multiprocessors, of two k-tiles each: shares begin with a tile and lack its last k-tile
// alone. For 11, the last round of one tile is divided together with a full one. For 12, no tile is divided.
TEST(LengthyExecutedChapters, SharesThatEndWithinTilesAreCompleted) {
  const ReferenceCase expected({190, 500, 128, -1.5F, 0.5F});
  for (const int multiprocessors : {13, 12, 11, 5}) {
    const FewMultiprocessors few(multiprocessors);
    expect_right(expected, *find_kernel("09_every_shape"), "64x128");
  }
}

TEST_F(ExecutedChapters, ChooseEachConfigurationForSomeSquareProduct) {
  for (const auto& [chapter, extent, choice] : {std::tuple{"09_every_shape", 512, "32x32"},
                                                {"09_every_shape", 1024, "64x128"},
                                                {"09_every_shape", 2048, "128x128"},
                                                {"18_strassen", 1024, "0 levels"},
                                                {"18_strassen", 8192, "2 levels"},
                                                {"18_strassen", 24576, "3 levels"}}) {
    const Problem p = packed({extent, extent, extent}, nullptr, nullptr, nullptr);
    EXPECT_EQ(find_kernel(chapter)->build(Target::for_executor).configurations(p).front().name, choice) << extent;
  }
}

// A kernel that copies B float by float stores C so as well, whichever of the two is not aligned.
TEST_F(ExecutedChapters, AMisalignedCCostsWhatAMisalignedBCosts) {
  const auto costs = [](std::int64_t more_b, std::int64_t more_c) {
    Problem p = packed({640, 640, 640}, nullptr, nullptr, nullptr);
    p.ldb += more_b;
    p.ldc += more_c;
    std::map<std::string, double> found;
    for (const Configuration& one : find_kernel("09_every_shape")->build(Target::for_executor).configurations(p)) {
      found[one.name] = one.predicted_cycles;
    }
    return found;
  };
  EXPECT_EQ(costs(1, 0), costs(0, 1));
  for (const auto& [name, cycles] : costs(0, 0)) {
    EXPECT_GT(costs(0, 1).at(name), 1.07 * cycles) << name;
  }
}

// Six tiles for two multiprocessors, of three k-tiles each.
TEST_F(LengthyAllChapters, EveryOtherRoundGoesBackAlongK) {
  const FewMultiprocessors two(2);
  expect_right(ReferenceCase({257, 130, 300}), *find_kernel("13_int8x6"), "");
  expect_right(ReferenceCase({257, 130, 300}), *find_kernel("19_int8x5"), "");
}

// Six tiles of 128x256 for five multiprocessors, of three k-tiles each, so three blocks with two tiles: rings of two
// stages, of three and of four are not back where they began. The second launch finds what the first has left.
TEST_F(LengthyAllChapters, GoOnFromTileToTile) {
  const FewMultiprocessors five(5);
  const ReferenceCase expected({257, 257, 130});
  expect_right(expected, *find_kernel("11_bf16x6"), "");
  expect_right(expected, *find_kernel("12_fp16x3"), "");
}

TEST_F(ExecutedChapters, AreAllThere) {
  for (const Kernel& kernel : kernels()) {
    const bool is_chapter_for_one_gpu = kernel.number > 0 && kernel.local_kernel.empty();
    EXPECT_EQ(static_cast<bool>(kernel.build(Target::for_executor)), is_chapter_for_one_gpu) << kernel.id();
  }
}

}  // namespace
}  // namespace sgemm::test
