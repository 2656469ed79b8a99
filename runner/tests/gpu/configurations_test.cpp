// Configurations on a real device: what is chosen and refused, and the workspace they get.

#include "bench/case_runner.hpp"

#include "fixtures/configured_kernel.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace sgemm::test {
namespace {

constexpr Size SMALL{192, 160, 224};

/// A kernel that asks for a workspace that no GPU has room for.
Kernel too_large() {
  Kernel kernel = configured_kernel_for_gpu({Way::two_sums});
  Build& build = kernel.build(Target::for_gpu);
  build.configurations = [inner = build.configurations](const Problem& problem) {
    std::vector<Configuration> all = inner(problem);
    all.front().workspace_bytes = std::size_t{3} << 50U;
    return all;
  };
  return kernel;
}

class ConfigurationsTest : public testing::Test {
 protected:
  void open() {
    runner_ = std::make_unique<CaseRunner>(protocol_, query_device(0), CaseRunner::Settings{});
    ASSERT_EQ(runner_->gpu_error(), "");
  }
  Record run(const Kernel& kernel, const Size& size = SMALL) {
    return runner_->run({&kernel, size, {}}, [](std::string_view) {});
  }
  Record compare(const Kernel& kernel, Distribution data) {
    return runner_->run({&kernel, SMALL, data}, [](std::string_view) {});
  }

  Protocol protocol_;
  std::unique_ptr<CaseRunner> runner_;
};

TEST_F(ConfigurationsTest, KernelChooses) {
  open();
  const Record record = run(configured_kernel_for_gpu({Way::two_sums, Way::one_sum}));
  EXPECT_EQ(record.outcome, Outcome::measured) << record.reason;
  EXPECT_TRUE(record.verified);
  EXPECT_EQ(record.detail, "two sums, by cost model");
  EXPECT_EQ(record.workspace_bytes, 12U * 10U * 16U * 16U * sizeof(float));
}

TEST_F(ConfigurationsTest, WorkspaceThatDoesNotFitIsSkippedWithBothSizes) {
  open();
  const Record record = run(too_large());
  EXPECT_EQ(record.outcome, Outcome::skipped);
  EXPECT_NE(record.reason.find("needs 3145728.0 GiB of workspace, "), std::string::npos) << record.reason;
  EXPECT_NE(record.reason.find(" GiB are free"), std::string::npos) << record.reason;
  EXPECT_EQ(run(configured_kernel_for_gpu({Way::two_sums})).outcome, Outcome::measured);
}

TEST_F(ConfigurationsTest, ErrorsAreThoseOfTheChosenConfiguration) {
  protocol_.mode = Mode::accuracy;
  open();
  const Kernel kernel = configured_kernel_for_gpu({Way::two_sums, Way::one_sum_forgotten});
  for (const Distribution data : {Distribution::uniform, Distribution::cancelling}) {
    const Record record = compare(kernel, data);
    EXPECT_EQ(record.outcome, Outcome::compared) << record.reason;
    EXPECT_TRUE(record.verified);
    EXPECT_EQ(record.detail, "two sums, by cost model");
    EXPECT_EQ(record.workspace_bytes, 12U * 10U * 16U * 16U * sizeof(float));
    ASSERT_TRUE(record.errors);
    EXPECT_TRUE(record.errors->vs_cublas);
  }
}

TEST_F(ConfigurationsTest, ErrorsThatTakeMoreWorkspaceThanIsFreeAreSkipped) {
  protocol_.mode = Mode::accuracy;
  open();
  const Record record = compare(too_large(), Distribution::uniform);
  EXPECT_EQ(record.outcome, Outcome::skipped);
  EXPECT_NE(record.reason.find(" GiB of workspace, "), std::string::npos) << record.reason;
  EXPECT_FALSE(record.errors);
}

}  // namespace
}  // namespace sgemm::test
