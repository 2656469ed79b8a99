// Kernels that compute a problem in several ways, on the executor: what is prepared, and the workspace they get.

#include "fixtures/configured_kernel.hpp"
#include "fixtures/product_case.hpp"
#include "simt/device_memory.hpp"
#include "verify/verify.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace sgemm::test {
namespace {

/// Runs `launch` on the operands of `host` and compares C.
bool is_right(const Launch& launch, const HostCase& host) {
  Matrix c0 = host.c;
  const auto reference = Reference::compute(host.problem(c0), Platform::cpu, HostCase::SEED);
  Matrix c = host.c;
  launch(host.problem(c), nullptr);
  return reference->check(c.data(), c.ld(), AccuracyClass::fp32).correct();
}

TEST(ExecutedConfigurations, FirstIsTheKernelsOwnChoice) {
  const HostCase host({50, 40, 30});
  const Kernel kernel = configured_kernel_for_executor({Way::two_sums, Way::one_sum});
  EXPECT_FALSE(kernel.prepare);
  EXPECT_FALSE(kernel.configurations);
  const Prepared prepared = kernel.prepare_on_executor(host.shape);
  EXPECT_EQ(prepared.detail, "two sums");
  EXPECT_EQ(prepared.workspace_bytes, 4U * 3U * 16U * 16U * sizeof(float));
  EXPECT_TRUE(is_right(prepared.launch, host));
}

TEST(ExecutedConfigurations, OthersArePreparedByName) {
  const HostCase host({50, 40, 30});
  const Kernel kernel = configured_kernel_for_executor({Way::two_sums, Way::one_sum, Way::one_sum_forgotten});
  EXPECT_EQ(kernel.configurations_on_executor(host.shape).size(), 3U);
  const Prepared prepared = kernel.prepare_configuration_on_executor(host.shape, "one sum");
  EXPECT_EQ(prepared.detail, "one sum");
  EXPECT_EQ(prepared.workspace_bytes, 0U);
  EXPECT_TRUE(is_right(prepared.launch, host));
  EXPECT_FALSE(is_right(kernel.prepare_configuration_on_executor(host.shape, "one sum forgotten").launch, host));
}

TEST(ExecutedConfigurations, UnknownNameSaysWhichThereAre) {
  const Kernel kernel = configured_kernel_for_executor({Way::two_sums, Way::one_sum});
  try {
    kernel.prepare_configuration_on_executor(HostCase({1, 1, 1}).shape, "three sums");
    FAIL() << "it was prepared";
  } catch (const std::invalid_argument& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("'three sums'"), std::string::npos) << message;
    EXPECT_NE(message.find("two sums, one sum"), std::string::npos) << message;
  }
}

TEST(ExecutedConfigurations, WorkspaceIsZeroAtFirstAndKeptBetweenLaunches) {
  const HostCase host({50, 40, 30});
  const Kernel kernel = configured_kernel_for_executor({Way::two_sums});
  Launch launch = kernel.prepare_on_executor(host.shape).launch;
  for (int repetition = 0; repetition < 3; ++repetition) {
    EXPECT_TRUE(is_right(launch, host));
  }
  // What a launch finds where the one before did not clean up shows in its result.
  float* const workspace = static_cast<float*>(simt::allocations().front().begin);
  workspace[0] = 1.0F;
  const Launch copy = launch;
  EXPECT_FALSE(is_right(copy, host)) << "copies have their own workspace";
  EXPECT_TRUE(is_right(launch, host));
}

TEST(ExecutedConfigurations, WorkspaceIsFreedWithTheLastCopy) {
  ASSERT_TRUE(simt::allocations().empty());
  Prepared prepared = configured_kernel_for_executor({Way::two_sums}).prepare_on_executor(HostCase({1, 1, 1}).shape);
  Launch copy = std::move(prepared.launch);
  prepared = {};
  EXPECT_EQ(simt::allocations().size(), 1U);
  copy = nullptr;
  EXPECT_TRUE(simt::allocations().empty());
}

TEST(ExecutedConfigurations, UnusedOperandsAreNotSeen) {
  for (const float beta : {0.0F, -2.5F}) {
    for (const ProductCase& product : {ProductCase{20, 30, 40, 0.0F, beta}, ProductCase{20, 30, 0, -2.5F, beta}}) {
      SCOPED_TRACE(product.describe());
      const HostCase host(product);  // with A and B full of NaN
      const Kernel kernel = configured_kernel_for_executor({Way::two_sums});
      EXPECT_TRUE(is_right(kernel.prepare_on_executor(host.shape).launch, host));
    }
  }
}

}  // namespace
}  // namespace sgemm::test
