#include "report/tuning_run.hpp"

#include "bench/tuning_file.hpp"
#include "fake_device.hpp"
#include "fake_kernels.hpp"
#include "record/environment.hpp"
#include "temporary_folder.hpp"
#include "usage_message.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace sgemm {
namespace {

constexpr Size SIZE{4096, 128, 4096};

Kernel configurable_kernel(int number, const std::string& name) {
  Kernel kernel = fake_kernel(number, name);
  kernel.tunable = true;
  return kernel;
}

Trial trial(const std::string& name, double time_us) { return {name, 0, Outcome::measured, "", {time_us}, false}; }

/// The second is faster than the model's choice, the third wrong, the last dropped.
TuningResult result_of(const Size& size) {
  TuningResult result;
  result.trials = {trial("128x256", 120.0), trial("64x64", 100.0), trial("32x32", 1.0), trial("16x16", 240.0)};
  result.trials[2].outcome = Outcome::incorrect;
  result.trials[2].reason = "C[0][0] is wrong";
  result.trials[3].dropped = true;
  result.best = TuningEntry{"09_a", size, true, "64x64", 100.0, "128x256", 120.0};
  return result;
}

TEST(Tunable, AllMeansThoseThatHaveConfigurations) {
  std::vector<Kernel> available = fake_kernels();
  available.push_back(configurable_kernel(11, "a"));
  available.push_back(configurable_kernel(12, "b"));
  std::vector<const Kernel*> all;
  for (const Kernel& kernel : available) {
    all.push_back(&kernel);
  }
  const std::vector<const Kernel*> both(all.end() - 2, all.end());
  EXPECT_EQ(tunable(all, "all", available), both);
  EXPECT_EQ(tunable({both.front()}, "11", available), std::vector<const Kernel*>{both.front()});
}

TEST(Tunable, OthersAreRefusedByName) {
  std::vector<Kernel> available = fake_kernels();
  available.push_back(configurable_kernel(11, "a"));
  available.push_back(configurable_kernel(12, "b"));
  const std::string message = usage_message([&] { tunable({&available[3], &available.back()}, "1,12", available); });
  EXPECT_NE(message.find("01_naive has no configurations"), std::string::npos) << message;
  EXPECT_NE(message.find("11_a, 12_b"), std::string::npos) << message;
  const std::vector<Kernel> none = fake_kernels();
  EXPECT_NE(usage_message([&] { tunable({&none[0]}, "all", none); }).find("no kernel has configurations"),
            std::string::npos);
}

TEST(TuningReport, HasTheFastestFirstAndSaysWhatEachDid) {
  const std::vector<std::string> lines = tuning_report("09_a", SIZE, result_of(SIZE), 0);
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[0], "09_a 4096x128x4096");
  EXPECT_NE(lines[2].find("64x64"), std::string::npos) << lines[2];
  EXPECT_NE(lines[2].find("100.00 us   0.0     1.200  fastest"), std::string::npos) << lines[2];
  EXPECT_NE(lines[3].find("1.000  the model's choice"), std::string::npos) << lines[3];
  EXPECT_NE(lines[4].find("0.500  dropped early"), std::string::npos) << lines[4];
  EXPECT_NE(lines[5].find("32x32"), std::string::npos) << lines[5];
  EXPECT_NE(lines[5].find("incorrect: C[0][0] is wrong"), std::string::npos) << lines[5];
  for (const std::string& line : tuning_report("09_a", SIZE, result_of(SIZE), 40)) {
    EXPECT_LE(line.size(), 40U) << line;
  }
}

TEST(TuningReport, SaysWhyNothingWasTried) {
  TuningResult result;
  result.outcome = Outcome::skipped;
  result.reason = "needs 300.0 GiB of device memory, 140.0 GiB are free";
  EXPECT_EQ(tuning_report("09_a", SIZE, result, 0),
            std::vector<std::string>{"09_a 4096x128x4096  skipped: " + result.reason});
}

class TuningRunTest : public TemporaryFolderTest {
 protected:
  std::map<Outcome, int> run(const std::vector<Size>& sizes,
                             const std::function<TuningResult(const Case&, const Observer&)>& body) {
    plan_ = make_plan({&kernel_}, sizes, {}, "");
    Console console(out_, nullptr, 0, Table(Mode::tune, 0, 0, 0));
    return tune(plan_, body, "tuning.json", describe_environment({}, {}, {fake_device(), ""}, {}), console, {});
  }

  Kernel kernel_ = configurable_kernel(9, "a");
  std::vector<Case> plan_;
  std::ostringstream out_;
};

TEST_F(TuningRunTest, StoresWinnersAndCountsConfigurations) {
  const auto counts = run({SIZE, {1, 2, 3}, {5, 6, 7}}, [](const Case& item, const Observer&) {
    TuningResult result = result_of(item.size);
    if (item.size.m == 5) {
      result = {Outcome::skipped, "too large", {}, std::nullopt};
    }
    return result;
  });
  EXPECT_EQ(counts, (std::map<Outcome, int>{{Outcome::measured, 6}, {Outcome::incorrect, 2}, {Outcome::skipped, 1}}));
  const TuningFile file = read_tuning_file("tuning.json");
  EXPECT_EQ(file.entries.size(), 2U);
  EXPECT_NE(out_.str().find("2 of 3 cases tuned. Tuning file: tuning.json"), std::string::npos) << out_.str();
}

TEST_F(TuningRunTest, FileIsThereAfterEveryCase) {
  EXPECT_THROW(run({SIZE, {1, 2, 3}},
                   [](const Case& item, const Observer&) {
                     if (item.size.m == 1) {
                       throw std::runtime_error("the end");
                     }
                     return result_of(item.size);
                   }),
               std::runtime_error);
  EXPECT_EQ(read_tuning_file("tuning.json").entries.size(), 1U);
}

}  // namespace
}  // namespace sgemm
