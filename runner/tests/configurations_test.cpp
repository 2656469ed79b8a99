// Kernels that compute a problem in several ways, on the executor: what is prepared, and the workspace they get.

#include "fixtures/configured_kernel.hpp"
#include "fixtures/product_case.hpp"
#include "fixtures/tested_kernel.hpp"
#include "simt/device_memory.hpp"
#include "verify/verify.hpp"

#include <gtest/gtest.h>


namespace sgemm::test {
namespace {

/// Runs `launch` on the operands of `host` and compares C.
template <class Launch>
bool is_right(const Launch& launch, const HostCase& host) {
  Matrix c0 = host.c;
  const auto reference = Reference::compute(host.problem(c0), Platform::cpu, HostCase::SEED);
  Matrix c = host.c;
  launch(host.problem(c), nullptr);
  return reference->check(c.data(), c.ld(), AccuracyClass::fp32).correct();
}

TEST(ExecutedConfigurations, FirstIsTheKernelsOwnChoice) {
  const HostCase host({50, 40, 30});
  const Kernel kernel = kernel_of(configured_chapter_for_executor({Way::two_sums, Way::one_sum}));
  EXPECT_FALSE(kernel.build(Target::for_gpu));
  EXPECT_FALSE(kernel.build(Target::for_checks));
  const Prepared prepared = kernel.build(Target::for_executor).prepare(host.shape);
  EXPECT_EQ(prepared.configuration.name, "two sums");
  EXPECT_EQ(prepared.configuration.workspace_bytes, 4U * 3U * 16U * 16U * sizeof(float));
  EXPECT_TRUE(is_right(prepared, host));
}

TEST(ExecutedConfigurations, OthersArePreparedByName) {
  const HostCase host({50, 40, 30});
  const Kernel kernel =
      kernel_of(configured_chapter_for_executor({Way::two_sums, Way::one_sum, Way::one_sum_forgotten}));
  EXPECT_EQ(kernel.build(Target::for_executor).configurations(host.shape).size(), 3U);
  const Prepared prepared = prepare_named(kernel.build(Target::for_executor), host.shape, "one sum");
  EXPECT_EQ(prepared.configuration.name, "one sum");
  EXPECT_EQ(prepared.configuration.workspace_bytes, 0U);
  EXPECT_TRUE(is_right(prepared, host));
  EXPECT_FALSE(is_right(prepare_named(kernel.build(Target::for_executor), host.shape, "one sum forgotten"), host));
}

TEST(ExecutedConfigurations, WorkspaceIsZeroAtFirstAndKeptBetweenLaunches) {
  const HostCase host({50, 40, 30});
  const Kernel kernel = kernel_of(configured_chapter_for_executor({Way::two_sums}));
  const Prepared launch = kernel.build(Target::for_executor).prepare(host.shape);
  for (int repetition = 0; repetition < 3; ++repetition) {
    EXPECT_TRUE(is_right(launch, host));
  }
  // A workspace that the launch before did not clean up shows in the result.
  float* const workspace = static_cast<float*>(simt::allocations().front().begin);
  workspace[0] = 1.0F;
  const Prepared copy = launch;
  EXPECT_FALSE(is_right(copy, host)) << "copies have their own workspace";
  EXPECT_TRUE(is_right(launch, host));
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
      const HostCase host(product);  // with A and B full of NaN
      const Kernel kernel = kernel_of(configured_chapter_for_executor({Way::two_sums}));
      EXPECT_TRUE(is_right(kernel.build(Target::for_executor).prepare(host.shape), host));
    }
  }
}

}  // namespace
}  // namespace sgemm::test
