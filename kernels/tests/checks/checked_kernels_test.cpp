// The chapters with every access to memory checked: they make no wrong one.

#include "base/kernel.hpp"
#include "fixtures/product_case.hpp"
#include "fixtures/tested_kernel.hpp"
#include "problem/guarded_operands.hpp"
#include "simt/checked_arrays.hpp"

#include <gtest/gtest.h>

namespace sgemm::test {
namespace {

class CheckedKernelTest : public testing::TestWithParam<KernelAndGroup> {};

TEST_P(CheckedKernelTest, MakesNoWrongAccess) {
  const Kernel& kernel = *GetParam().kernel;
  for (const ProductCase& product : GetParam().group.cases) {
    SCOPED_TRACE(product.describe());
    const HostCase host(product);
    Matrix c = host.c;
    const Problem problem = host.problem(c);
    if (kernel.unsupported(problem)) {
      continue;
    }
    const simt::CheckedArrays arrays(arrays_of(problem));
    EXPECT_NO_THROW(kernel.build(Target::for_checks).prepare(problem)(problem, nullptr));
  }
}

/// Groups small enough for checks, which slow kernels down tenfold. Ragged products alone are not lengthy.
std::vector<KernelAndGroup> checked_kernels_and_groups(bool lengthy) {
  constexpr std::int64_t FEWER_PRODUCTS = 1'000'000;
  std::vector<KernelAndGroup> all = kernels_and_groups(Platform::gpu, FEWER_PRODUCTS);
  std::erase_if(all, [&](const auto& item) {
    return !item.kernel->build(Target::for_checks) || (item.group.name != "primes") != lengthy;
  });
  return all;
}

INSTANTIATE_TEST_SUITE_P(Registered, CheckedKernelTest, testing::ValuesIn(checked_kernels_and_groups(false)), NAMED);
INSTANTIATE_TEST_SUITE_P(Lengthy, CheckedKernelTest, testing::ValuesIn(checked_kernels_and_groups(true)), NAMED);

/// Two operand tiles of B for one of A, and more k-tiles than a ring has stages: a stage of A is read twice before it
/// is filled again. Chapter 13 has one of each.
TEST(CheckedChapters, StagesThatTwoTilesReadAreFilledOnceBothHaveDone) {
  const HostCase host({8, 160, 400});
  Matrix c = host.c;
  const Problem problem = host.problem(c);
  const simt::CheckedArrays arrays(arrays_of(problem));
  for (const Kernel& kernel : kernels()) {
    const Build& build = kernel.build(Target::for_checks);
    if ((kernel.number == 11 || kernel.number == 12) && build && !kernel.unsupported(problem)) {
      SCOPED_TRACE(kernel.id());
      EXPECT_NO_THROW(build.prepare(problem)(problem, nullptr));
    }
  }
}

}  // namespace
}  // namespace sgemm::test
