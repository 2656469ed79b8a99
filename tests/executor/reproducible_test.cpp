// Chapter 15 on the executor against its definition, bit by bit.

#include "fixtures/product_case.hpp"
#include "fixtures/same_bits.hpp"
#include "fixtures/split_cases.hpp"
#include "fixtures/tested_kernel.hpp"
#include "host/kernel.hpp"
#include "simt/device.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sgemm::test {
namespace {

std::vector<KernelAndGroup> groups() {
  std::vector<KernelAndGroup> all;
  for (const KernelAndGroup& each : kernels_and_groups(Platform::gpu, FEW_PRODUCTS)) {
    if (each.kernel->name == "reproducible" && each.kernel->build(Target::for_executor)) {
      all.push_back(each);
    }
  }
  return all;
}

class ReproducibleTest : public testing::TestWithParam<KernelAndGroup> {
 protected:
  void TearDown() override { simt::set_multiprocessors(0); }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ReproducibleTest);

/// Each configuration on GPUs of several sizes, which divide k differently. Each launch finds the workspace as the one
/// before has left it.
TEST_P(ReproducibleTest, HasTheBitsOfTheDefinition) {
  const Build& build = GetParam().kernel->build(Target::for_executor);
  for (const ProductCase& product : GetParam().group.cases) {
    SCOPED_TRACE(product.describe());
    const HostCase host(product);
    const Matrix expected = defined_result(host);
    for (const int multiprocessors : {132, 7}) {
      simt::set_multiprocessors(multiprocessors);
      for (const Configuration& configuration : build.configurations(host.shape)) {
        const Prepared prepared = build.prepare(configuration);
        for (int launch = 0; launch < 2; ++launch) {
          Matrix c = host.c;
          prepared(host.problem(c), nullptr);
          ASSERT_TRUE(same_bits(c, expected)) << configuration.name << ", " << multiprocessors;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, ReproducibleTest, testing::ValuesIn(groups()),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace sgemm::test
