#include "base/kernel.hpp"
#include "fake_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace sgemm {
namespace {

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
  for_gpu.build(Target::for_gpu).configurations = none;
  for_gpu.build(Target::for_gpu).resources = [] { return Resources{}; };
  for_gpu.build(Target::for_gpu).missing_code = "sm_90a";
  Kernel for_executor = fake_kernel(-1, name);
  for_executor.build(Target::for_executor).configurations = none;

  const std::size_t before = kernels().size();
  const KernelRegistration first(gpu_first ? for_gpu : for_executor);
  const KernelRegistration second(gpu_first ? for_executor : for_gpu);
  EXPECT_EQ(kernels().size(), before + 1);
  EXPECT_TRUE(registered(name).build(Target::for_gpu));
  EXPECT_TRUE(registered(name).build(Target::for_gpu).resources);
  EXPECT_EQ(registered(name).build(Target::for_gpu).missing_code, "sm_90a");
  EXPECT_TRUE(registered(name).build(Target::for_executor));
  EXPECT_FALSE(registered(name).build(Target::for_executor).resources);
  EXPECT_FALSE(registered(name).build(Target::for_checks));
  EXPECT_THROW(KernelRegistration{for_gpu}, std::logic_error);
  EXPECT_THROW(KernelRegistration{for_executor}, std::logic_error);
}

INSTANTIATE_TEST_SUITE_P(Orders, RegistryTest, testing::Bool());

}  // namespace
}  // namespace sgemm
