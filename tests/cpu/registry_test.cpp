#include "fake_kernels.hpp"
#include "host/kernel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace sgemm {
namespace {

Prepared nothing(const Problem&) { return {}; }
Prepared nothing_of_that_name(const Problem&, const std::string&) { return {}; }
std::vector<Configuration> none(const Problem&) { return {}; }

/// The tests' own names, as the registry is the program's.
const Kernel& registered(const std::string& id) {
  return *std::find_if(kernels().begin(), kernels().end(), [&](const Kernel& kernel) { return kernel.id() == id; });
}

class RegistryTest : public testing::TestWithParam<bool> {};

TEST_P(RegistryTest, CompilationsOfAChapterForBothTargetsAreOneKernel) {
  const bool gpu_first = GetParam();
  const std::string name = gpu_first ? "registry_test_a" : "registry_test_b";
  Kernel for_gpu = fake_kernel(-1, name);
  for_gpu.prepare = nothing;
  for_gpu.configurations = none;
  for_gpu.prepare_configuration = nothing_of_that_name;
  for_gpu.resources = [] { return Resources{}; };
  Kernel for_executor = fake_kernel(-1, name);
  for_executor.prepare_on_executor = nothing;
  for_executor.configurations_on_executor = none;
  for_executor.prepare_configuration_on_executor = nothing_of_that_name;

  const std::size_t before = kernels().size();
  const Registration first(gpu_first ? for_gpu : for_executor);
  const Registration second(gpu_first ? for_executor : for_gpu);
  EXPECT_EQ(kernels().size(), before + 1);
  EXPECT_TRUE(registered(name).prepare);
  EXPECT_TRUE(registered(name).prepare_on_executor);
  EXPECT_TRUE(registered(name).configurations);
  EXPECT_TRUE(registered(name).configurations_on_executor);
  EXPECT_TRUE(registered(name).prepare_configuration);
  EXPECT_TRUE(registered(name).prepare_configuration_on_executor);
  EXPECT_FALSE(registered(name).prepare_configuration_checked);
  EXPECT_TRUE(registered(name).resources);
  EXPECT_THROW(Registration{for_gpu}, std::logic_error);
  EXPECT_THROW(Registration{for_executor}, std::logic_error);
}

INSTANTIATE_TEST_SUITE_P(Orders, RegistryTest, testing::Bool());

}  // namespace
}  // namespace sgemm
