// Every chapter on the executor against double precision, on the shapes of the GPU's tests; and the deliberately wrong
// kernels, which the verifier has to reject here as well.

#include "fixtures/product_case.hpp"
#include "fixtures/tested_kernel.hpp"
#include "fixtures/wrong_kernels.hpp"
#include "host/kernel.hpp"
#include "verify/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace sgemm::test {
namespace {

/// Runs `launch` on the operands of `host` and compares C, and what lies around it.
Verdict run(const Launch& launch, const HostCase& host, AccuracyClass accuracy, const Coverage& coverage = {}) {
  Matrix c0 = host.c;
  const auto reference = Reference::compute(host.problem(c0), Platform::cpu, HostCase::SEED, coverage);
  Matrix c = host.c;
  launch(host.problem(c), nullptr);
  EXPECT_TRUE(c.same_outside(host.c)) << "something around C was overwritten";
  return reference->check(c.data(), c.ld(), accuracy);
}

std::vector<KernelAndGroup> executed_kernels_and_groups() {
  std::vector<KernelAndGroup> all = kernels_and_groups(Platform::gpu, FEW_PRODUCTS);
  all.erase(std::remove_if(all.begin(), all.end(), [](const auto& item) { return !item.kernel->prepare_on_executor; }),
            all.end());
  return all;
}

class ExecutedKernelTest : public testing::TestWithParam<KernelAndGroup> {};

TEST_P(ExecutedKernelTest, AgreesWithDoublePrecision) {
  const Kernel& kernel = *GetParam().kernel;
  for (const ProductCase& product : GetParam().group.cases) {
    SCOPED_TRACE(product.describe());
    const HostCase host(product);
    ASSERT_FALSE(kernel.unsupported(host.shape).has_value());
    const Verdict verdict = run(kernel.prepare_on_executor(host.shape).launch, host, kernel.accuracy);
    EXPECT_TRUE(verdict.correct()) << verdict.describe();
    EXPECT_EQ(verdict.compared, product.m * product.n);
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, ExecutedKernelTest, testing::ValuesIn(executed_kernels_and_groups()),
                         [](const auto& info) { return test_name(info.param); });

/// With shares of k that end within tiles, tiles that hang over C's edges, and few tiles and many.
TEST(ExecutedChapters, AreRightInEveryConfiguration) {
  std::map<std::string, std::set<std::string>> seen;  // of each kernel
  for (const ProductCase& product :
       {ProductCase{200, 150, 1000}, ProductCase{390, 520, 130}, ProductCase{129, 257, 65},
        ProductCase{1150, 100, 1000}, ProductCase{2800, 1300, 40}, ProductCase{1300, 2801, 40}}) {
    SCOPED_TRACE(product.describe());
    const HostCase host(product);
    for (const Kernel& kernel : kernels()) {
      if (!kernel.configurations_on_executor) {
        continue;
      }
      const std::vector<Configuration> all = kernel.configurations_on_executor(host.shape);
      if (all.size() == 1) {  // the one that every other test takes
        continue;
      }
      for (const Configuration& configuration : all) {
        SCOPED_TRACE(kernel.id() + ", " + configuration.name);
        const Prepared prepared = kernel.prepare_configuration_on_executor(host.shape, configuration.name);
        EXPECT_TRUE(run(prepared.launch, host, kernel.accuracy).correct());
        // The second launch finds the workspace as the first has left it.
        EXPECT_TRUE(run(prepared.launch, host, kernel.accuracy).correct());
        seen[kernel.id()].insert(configuration.name);
      }
    }
  }
  EXPECT_GE(seen["09_every_shape"].size(), 12U) << "the shapes above no longer show chapter 09's ways";
  EXPECT_EQ(seen["11_bf16x6"].size(), 4U);
  EXPECT_EQ(seen["12_fp16x3"].size(), 4U);
}

// With more tiles than SMs, 144 and 204 of 128x128 for 132: a last round that is divided by itself, and one that is
// divided together with the round before. 130 k are three pieces, so that shares end within tiles.
TEST(ExecutedChapters, DivideTheLastRound) {
  for (const ProductCase& product : {ProductCase{1409, 1409, 130}, ProductCase{1409, 2049, 130}}) {
    SCOPED_TRACE(product.describe());
    const HostCase host(product);
    for (const Kernel& kernel : kernels()) {
      if (kernel.id() == "11_bf16x6" || kernel.id() == "12_fp16x3") {
        SCOPED_TRACE(kernel.id());
        const Prepared prepared = kernel.prepare_configuration_on_executor(host.shape, "128x128 stream-k");
        EXPECT_TRUE(run(prepared.launch, host, kernel.accuracy).correct());
        EXPECT_TRUE(run(prepared.launch, host, kernel.accuracy).correct());
      }
    }
  }
}

// 154 tiles of 128x256 for 132 SMs, of three k-tiles each: a ring of two slots is not back where it began.
TEST(ExecutedChapters, GoOnFromTileToTile) {
  const HostCase host({1665, 2561, 130});
  for (const Kernel& kernel : kernels()) {
    if (kernel.id() == "11_bf16x6:6_persistent") {
      EXPECT_TRUE(run(kernel.prepare_on_executor(host.shape).launch, host, kernel.accuracy).correct());
      return;
    }
  }
  FAIL() << "there is no such kernel";
}

TEST(ExecutedChapters, AreAllThere) {
  for (const Kernel& kernel : kernels()) {
    EXPECT_EQ(static_cast<bool>(kernel.prepare_on_executor), kernel.number > 0) << kernel.id();
  }
}

TEST(ExecutedWrongKernels, AreRejected) {
  Coverage sampled;
  sampled.max_full_products = -1.0;
  const HostCase host({101, 75, 70});
  for (const Coverage& coverage : {Coverage{}, sampled}) {
    EXPECT_TRUE(run(right_kernel(), host, AccuracyClass::fp32, coverage).correct());
    for (const WrongKernel& kernel : wrong_kernels()) {
      const Verdict verdict = run(kernel.launch, host, AccuracyClass::fp32, coverage);
      EXPECT_FALSE(verdict.correct()) << kernel.name << ": " << verdict.describe();
    }
  }
}

}  // namespace
}  // namespace sgemm::test
