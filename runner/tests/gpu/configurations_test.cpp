// Configurations on a real device: a workspace that it has no room for.

#include "bench/case_runner.hpp"

#include "fixtures/configured_kernel.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string_view>
#include <vector>

namespace sgemm::test {
namespace {

constexpr Size SMALL{192, 160, 224};

/// A kernel that asks for a workspace that no GPU has room for.
Kernel too_large() {
  Kernel kernel = kernel_of(configured_chapter_for_gpu({Way::two_sums}));
  Build& build = kernel.build(Target::for_gpu);
  build.configurations = [inner = build.configurations](const Problem& problem) {
    std::vector<Configuration> all = inner(problem);
    all.front().workspace_bytes = std::size_t{3} << 50U;
    return all;
  };
  return kernel;
}

/// With errors compared, too, which takes a workspace as well.
TEST(ConfigurationsTest, WorkspaceThatDoesNotFitIsSkippedWithBothSizes) {
  for (const Mode mode : {Mode::measure, Mode::accuracy}) {
    Protocol protocol;
    protocol.mode = mode;
    CaseRunner runner(protocol, query_device(0), CaseRunner::Settings{});
    ASSERT_EQ(runner.gpu_error(), "");
    const auto run = [&](const Kernel& kernel) { return runner.run({&kernel, SMALL, {}}, [](std::string_view) {}); };
    const Record record = run(too_large());
    EXPECT_EQ(record.outcome, Outcome::skipped);
    const char* const needed = mode == Mode::measure ? "needs 3145728.0 GiB of workspace, " : " GiB of workspace, ";
    EXPECT_NE(record.reason.find(needed), std::string::npos) << record.reason;
    EXPECT_NE(record.reason.find(" GiB are free"), std::string::npos) << record.reason;
    EXPECT_FALSE(record.errors);
    EXPECT_EQ(run(kernel_of(configured_chapter_for_gpu({Way::two_sums}))).outcome,
              mode == Mode::measure ? Outcome::measured : Outcome::compared);
  }
}

}  // namespace
}  // namespace sgemm::test
