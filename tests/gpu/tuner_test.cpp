// Configurations on a real device: what is chosen, tried and refused, and the workspace they get.

#include "bench/case_runner.hpp"

#include "bench/tuning_file.hpp"
#include "fixtures/configured_kernel.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
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
  void open(std::optional<TuningFile> tuning = std::nullopt) {
    runner_ = std::make_unique<CaseRunner>(protocol_, query_device(0),
                                           CaseRunner::Settings{true, {}, false, std::move(tuning)});
    ASSERT_EQ(runner_->gpu_error(), "");
  }
  Record run(const Kernel& kernel, const Size& size = SMALL) {
    return runner_->run({&kernel, size, {}}, [](std::string_view) {});
  }
  Record compare(const Kernel& kernel, Distribution data) {
    return runner_->run({&kernel, SMALL, data}, [](std::string_view) {});
  }
  TuningResult tune(const std::vector<Way>& ways, const Size& size = SMALL) {
    const Kernel kernel = configured_kernel_for_gpu(ways);
    return runner_->tune({&kernel, size, {}}, [](std::string_view) {});
  }
  static TuningFile tuned_to(std::string configuration) {
    return {"tuning.json", "", {{"configured", SMALL, true, std::move(configuration), 1.0, "one sum", 2.0}}};
  }

  Protocol protocol_;
  std::unique_ptr<CaseRunner> runner_;
};

TEST_F(ConfigurationsTest, KernelChoosesWithoutATuningFile) {
  open();
  const Record record = run(configured_kernel_for_gpu({Way::two_sums, Way::one_sum}));
  EXPECT_EQ(record.outcome, Outcome::measured) << record.reason;
  EXPECT_TRUE(record.verified);
  EXPECT_EQ(record.detail, "two sums, by cost model");
  EXPECT_EQ(record.workspace_bytes, 12U * 10U * 16U * 16U * sizeof(float));
}

TEST_F(ConfigurationsTest, TuningFileIsFollowed) {
  open(tuned_to("two sums"));
  const Kernel kernel = configured_kernel_for_gpu({Way::one_sum, Way::two_sums});
  EXPECT_EQ(run(kernel).detail, "two sums, tuned");
  EXPECT_EQ(run(kernel, {192, 160, 228}).detail, "one sum, by cost model") << "the entry is for another shape";
}

TEST_F(ConfigurationsTest, EntryOfAConfigurationThatIsGoneIsNoted) {
  open(tuned_to("three sums"));
  const Record record = run(configured_kernel_for_gpu({Way::one_sum, Way::two_sums}));
  EXPECT_EQ(record.outcome, Outcome::measured) << record.reason;
  EXPECT_EQ(record.detail, "one sum, by cost model");
  EXPECT_NE(record.note.find("three sums"), std::string::npos) << record.note;
}

TEST_F(ConfigurationsTest, WorkspaceThatDoesNotFitIsSkippedWithBothSizes) {
  open();
  const Record record = run(too_large());
  EXPECT_EQ(record.outcome, Outcome::skipped);
  EXPECT_NE(record.reason.find("needs 3145728.0 GiB of workspace, "), std::string::npos) << record.reason;
  EXPECT_NE(record.reason.find(" GiB are free"), std::string::npos) << record.reason;
  EXPECT_EQ(run(configured_kernel_for_gpu({Way::two_sums})).outcome, Outcome::measured);
}

TEST_F(ConfigurationsTest, ErrorsAreThoseOfTheTunedConfiguration) {
  protocol_.mode = Mode::accuracy;
  open(tuned_to("two sums"));
  const Kernel kernel = configured_kernel_for_gpu({Way::one_sum_forgotten, Way::two_sums});
  for (const Distribution data : {Distribution::uniform, Distribution::cancelling}) {
    const Record record = compare(kernel, data);
    EXPECT_EQ(record.outcome, Outcome::compared) << record.reason;
    EXPECT_TRUE(record.verified);
    EXPECT_EQ(record.detail, "two sums, tuned");
    EXPECT_EQ(record.workspace_bytes, 12U * 10U * 16U * 16U * sizeof(float));
    ASSERT_TRUE(record.errors);
    EXPECT_TRUE(record.errors->vs_cublas);
  }
  open();
  EXPECT_EQ(compare(kernel, Distribution::uniform).outcome, Outcome::incorrect) << "the kernel's own choice is wrong";
}

TEST_F(ConfigurationsTest, ErrorsThatTakeMoreWorkspaceThanIsFreeAreSkipped) {
  protocol_.mode = Mode::accuracy;
  open();
  const Record record = compare(too_large(), Distribution::uniform);
  EXPECT_EQ(record.outcome, Outcome::skipped);
  EXPECT_NE(record.reason.find(" GiB of workspace, "), std::string::npos) << record.reason;
  EXPECT_FALSE(record.errors);
}

class TuningTest : public ConfigurationsTest, public testing::WithParamInterface<std::tuple<L2State, float>> {};

TEST_P(TuningTest, TriesAllAndNeverChoosesAWrongOne) {
  std::tie(protocol_.l2, protocol_.beta) = GetParam();
  protocol_.max_seconds = 0.1;
  open();
  const TuningResult result = tune({Way::two_sums, Way::one_sum_forgotten, Way::one_sum});
  ASSERT_EQ(result.outcome, Outcome::measured) << result.reason;
  ASSERT_EQ(result.trials.size(), 3U);
  for (const std::size_t right : {0U, 2U}) {
    const Trial& trial = result.trials[right];
    EXPECT_EQ(trial.outcome, Outcome::measured) << trial.reason;
    EXPECT_GE(trial.times_us.size(), static_cast<std::size_t>(FEWEST_SAMPLES));
    for (const double time : trial.times_us) {
      EXPECT_GT(time, 0.0);
    }
  }
  EXPECT_EQ(result.trials[1].outcome, Outcome::incorrect);
  EXPECT_TRUE(result.trials[1].times_us.empty());
  ASSERT_TRUE(result.best);
  EXPECT_NE(result.best->configuration, "one sum forgotten");
  EXPECT_EQ(result.best->model_choice, "two sums");
  EXPECT_TRUE(result.best->model_time_us);
  EXPECT_TRUE(result.best->float4_rows);
}

INSTANTIATE_TEST_SUITE_P(Protocols, TuningTest,
                         testing::Combine(testing::Values(L2State::cold, L2State::warm), testing::Values(0.0F, 0.5F)));

TEST_F(ConfigurationsTest, NothingIsChosenWhereAllAreWrong) {
  open();
  const TuningResult result = tune({Way::one_sum_forgotten});
  EXPECT_EQ(result.outcome, Outcome::measured);
  EXPECT_EQ(result.trials.front().outcome, Outcome::incorrect);
  EXPECT_FALSE(result.best);
}

TEST_F(ConfigurationsTest, CaseThatCanNotBeTriedSaysWhy) {
  open();
  const TuningResult result = tune({Way::one_sum}, {1 << 19, 1 << 19, 1});  // C alone has 1 TiB
  EXPECT_EQ(result.outcome, Outcome::skipped);
  EXPECT_NE(result.reason.find("GiB"), std::string::npos) << result.reason;
  EXPECT_TRUE(result.trials.empty());
}

}  // namespace
}  // namespace sgemm::test
