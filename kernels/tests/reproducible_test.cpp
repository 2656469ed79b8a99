// Chapter 15 on the executor against its definition, bit by bit.

#include "base/kernel.hpp"
#include "fixtures/product_case.hpp"
#include "fixtures/same_bits.hpp"
#include "fixtures/tested_kernel.hpp"
#include "simt/device.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

namespace sgemm::test {
namespace {

bool is_tested(const Kernel& kernel) { return kernel.is_reproducible() && kernel.build(Target::for_executor); }

/// The ragged products, or all others.
std::vector<KernelAndGroup> groups(bool lengthy) {
  std::vector<KernelAndGroup> all = kernels_and_groups(Platform::gpu, FEW_PRODUCTS);
  std::erase_if(all,
                [&](const auto& each) { return (each.group.name != "primes") != lengthy || !is_tested(*each.kernel); });
  return all;
}

class ReproducibleTest : public testing::TestWithParam<KernelAndGroup> {
 protected:
  void TearDown() override { simt::set_multiprocessors(0); }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ReproducibleTest);

/// Each configuration on GPUs of two sizes, which divide k differently: among more blocks on the larger one, where a
/// second launch finds the workspace as the first has left it.
TEST_P(ReproducibleTest, HasTheBitsOfTheDefinition) {
  const Build& build = GetParam().kernel->build(Target::for_executor);
  for (const ProductCase& product : GetParam().group.cases) {
    SCOPED_TRACE(product.describe());
    const HostCase host(product);
    const Matrix expected = defined_result(host);
    for (const auto& [multiprocessors, launches] : {std::pair{132, 2}, {7, 1}}) {
      simt::set_multiprocessors(multiprocessors);
      for (const Configuration& configuration : build.configurations(host.shape)) {
        const Prepared prepared = build.prepare(configuration);
        for (int launch = 0; launch < launches; ++launch) {
          ASSERT_TRUE(same_bits(host.result_of(prepared), expected)) << configuration.name << ", " << multiprocessors;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, ReproducibleTest, testing::ValuesIn(groups(false)), NAMED);
INSTANTIATE_TEST_SUITE_P(Lengthy, ReproducibleTest, testing::ValuesIn(groups(true)), NAMED);

/// Parts of a product, at any place in memory and on GPUs of every size, have the bits of the whole one.
TEST(LengthyReproducibleBlocks, HaveTheBitsOfTheWholeProduct) {
  RandomProducts random(1);
  for (const Kernel* const kernel : kernels_where(is_tested)) {
    const Build& build = kernel->build(Target::for_executor);
    for (int product = 0; product < 100; ++product) {
      const HostCase host = random.next(200, 200, 400);
      expect_blocks_of_the_whole(host, 2, random, [&](const Block& block, Matrix& c) {
        simt::set_multiprocessors(static_cast<int>(random.number(1, 40)));
        const Problem p = block_of(host.problem(c), block);
        const std::vector<Configuration> all = build.configurations(p);
        build.prepare(all[static_cast<std::size_t>(random.number(0, static_cast<std::int64_t>(all.size()) - 1))])(
            p, nullptr);
      });
    }
  }
  simt::set_multiprocessors(0);
}

/// Rows so far from the others that floats would overflow, or lose digits, before the columns' scales bring sums back.
TEST(ReproducibleScales, OfSingleRowsTakeDoubles) {
  for (const int exponent : {120, -120}) {
    HostCase host({16, 32, 30});
    // Of the rows, the first and the second of a thread's.
    host.a.scale([=](auto row, auto) { return row == 0 || row == 9 ? exponent : 0; });
    host.b.scale([=](auto, auto) { return -exponent / 2; });
    const Matrix expected = defined_result(host);
    for (const Kernel* const kernel : kernels_where(is_tested)) {
      const Prepared prepared = kernel->build(Target::for_executor).prepare(host.shape);
      EXPECT_TRUE(same_bits(host.result_of(prepared), expected)) << kernel->id() << ", 2^" << exponent;
    }
  }
}

/// All digits are -126, -128 and -128, so that a sum of three products passes 2^31 at k = 44151. INT32 has to be left
/// before, by one block that takes all k and by several that share them.
TEST(ReproducibleLongSums, AreCutBeforeInt32IsFull) {
  ProductCase product{2, 3, 44500};
  product.change = {"largest_sums", [](HostCase& host) {
                      host.a.fill(-8290432.0F);
                      host.b.fill(-8290432.0F);
                    }};
  const HostCase host(product);
  const Matrix expected = defined_result(host);
  for (const Kernel* const kernel : kernels_where(is_tested)) {
    const Build& build = kernel->build(Target::for_executor);
    for (const int multiprocessors : {1, 2}) {
      simt::set_multiprocessors(multiprocessors);
      for (const Configuration& each : build.configurations(host.shape)) {
        EXPECT_TRUE(same_bits(host.result_of(build.prepare(each)), expected))
            << kernel->id() << ", " << multiprocessors;
      }
    }
  }
  simt::set_multiprocessors(0);
}

}  // namespace
}  // namespace sgemm::test
