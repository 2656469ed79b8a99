// Every registered CPU kernel against double precision.

#include "base/kernel.hpp"
#include "fixtures/product_case.hpp"
#include "fixtures/tested_kernel.hpp"
#include "verify/verify.hpp"

#include <gtest/gtest.h>


namespace sgemm::test {
namespace {

class CpuKernelTest : public testing::TestWithParam<KernelAndGroup> {};

TEST_P(CpuKernelTest, AgreesWithDoublePrecision) {
  const Kernel& kernel = *GetParam().kernel;
  for (const ProductCase& product : GetParam().group.cases) {
    SCOPED_TRACE(product.describe());
    const HostCase host(product);
    Matrix c0 = host.c;
    const auto reference = Reference::compute(host.problem(c0), Platform::cpu, HostCase::SEED);
    Matrix c = host.c;
    const Problem problem = host.problem(c);
    ASSERT_FALSE(kernel.unsupported(problem).has_value());
    kernel.build(Target::for_host).prepare(problem)(problem, nullptr);
    const Verdict verdict = reference->check(c.data(), c.ld(), kernel.accuracy);
    EXPECT_TRUE(verdict.correct()) << verdict.describe();
    EXPECT_EQ(verdict.compared, product.m * product.n);
    EXPECT_TRUE(c.same_outside(host.c)) << "something around C was overwritten";
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, CpuKernelTest, testing::ValuesIn(kernels_and_groups(Platform::cpu, FEW_PRODUCTS)),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace sgemm::test
