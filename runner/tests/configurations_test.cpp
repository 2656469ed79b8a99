// Kernels of the CPU against double precision, and kernels that compute a problem in several ways, on the executor:
// what is prepared, and the workspace they get.

#include "fixtures/configured_kernel.hpp"
#include "fixtures/reference_case.hpp"
#include "fixtures/tested_kernel.hpp"
#include "simt/device_memory.hpp"

#include <gtest/gtest.h>

namespace sgemm::test {
namespace {

class CpuKernelTest : public testing::TestWithParam<KernelAndGroup> {};

TEST_P(CpuKernelTest, AgreesWithDoublePrecision) {
  const Kernel& kernel = *GetParam().kernel;
  for (const ProductCase& product : GetParam().group.cases) {
    SCOPED_TRACE(product.describe());
    const ReferenceCase expected(product);
    ASSERT_FALSE(kernel.unsupported(expected.host.shape).has_value());
    const Verdict verdict = expected.run(kernel.build(Target::for_host).prepare(expected.host.shape), kernel.accuracy);
    EXPECT_TRUE(verdict.correct()) << verdict.describe();
    EXPECT_EQ(verdict.compared, product.m * product.n);
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, CpuKernelTest, testing::ValuesIn(kernels_and_groups(Platform::cpu, FEW_PRODUCTS)),
                         NAMED);

TEST(ExecutedConfigurations, FirstIsTheKernelsOwnChoiceAndOthersHaveNames) {
  const ReferenceCase expected({50, 40, 30});
  const Kernel kernel =
      kernel_of(configured_chapter_for_executor({Way::two_sums, Way::one_sum, Way::one_sum_forgotten}));
  const Build& build = kernel.build(Target::for_executor);
  EXPECT_FALSE(kernel.build(Target::for_gpu));
  EXPECT_FALSE(kernel.build(Target::for_checks));
  EXPECT_EQ(build.configurations(expected.host.shape).size(), 3U);
  const Prepared chosen = build.prepare(expected.host.shape);
  EXPECT_EQ(chosen.configuration.name, "two sums");
  EXPECT_EQ(chosen.configuration.workspace_bytes, 4U * 3U * 16U * 16U * sizeof(float));
  EXPECT_TRUE(expected.run(chosen).correct());
  const Prepared named = prepare_named(build, expected.host.shape, "one sum");
  EXPECT_EQ(named.configuration.name, "one sum");
  EXPECT_EQ(named.configuration.workspace_bytes, 0U);
  EXPECT_TRUE(expected.run(named).correct());
  EXPECT_FALSE(expected.run(prepare_named(build, expected.host.shape, "one sum forgotten")).correct());
}

TEST(ExecutedConfigurations, WorkspaceIsZeroAtFirstAndKeptBetweenLaunches) {
  const ReferenceCase expected({50, 40, 30});
  const Kernel kernel = kernel_of(configured_chapter_for_executor({Way::two_sums}));
  const Prepared launch = kernel.build(Target::for_executor).prepare(expected.host.shape);
  for (int repetition = 0; repetition < 3; ++repetition) {
    EXPECT_TRUE(expected.run(launch).correct());
  }
  // A workspace that the launch before did not clean up shows in the result.
  float* const workspace = static_cast<float*>(simt::allocations().front().begin);
  workspace[0] = 1.0F;
  const Prepared copy = launch;
  EXPECT_FALSE(expected.run(copy).correct()) << "copies have their own workspace";
  EXPECT_TRUE(expected.run(launch).correct());
}

TEST(ExecutedConfigurations, WorkspaceIsFreedWithTheLastCopy) {
  ASSERT_TRUE(simt::allocations().empty());
  Prepared prepared = kernel_of(configured_chapter_for_executor({Way::two_sums}))
                          .build(Target::for_executor)
                          .prepare(HostCase({1, 1, 1}).shape);
  Prepared copy = prepared;
  prepared = {};
  EXPECT_EQ(simt::allocations().size(), 1U);
  copy = {};
  EXPECT_TRUE(simt::allocations().empty());
}

TEST(ExecutedConfigurations, UnusedOperandsAreNotSeen) {
  for (const float beta : {0.0F, -2.5F}) {
    for (const ProductCase& product : {ProductCase{20, 30, 40, 0.0F, beta}, ProductCase{20, 30, 0, -2.5F, beta}}) {
      SCOPED_TRACE(product.describe());
      const ReferenceCase expected(product);  // with A and B full of NaN
      const Kernel kernel = kernel_of(configured_chapter_for_executor({Way::two_sums}));
      EXPECT_TRUE(expected.run(kernel.build(Target::for_executor).prepare(expected.host.shape)).correct());
    }
  }
}

}  // namespace
}  // namespace sgemm::test
