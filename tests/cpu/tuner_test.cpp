// The tuner with fake configurations, whose names say what they do.

#include "bench/tuner.hpp"

#include "fake_clock.hpp"
#include "problem/operands.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace sgemm {
namespace {

using Names = std::vector<std::string>;

std::vector<Configuration> named(const Names& names) {
  std::vector<Configuration> configurations;
  for (const std::string& name : names) {
    configurations.push_back({name, 0, {}});
  }
  return configurations;
}

/// Configurations take the time that their name begins with. The rest of it says when they fail.
class FakeBench final : public TuningBench {
 public:
  Prepared prepare(const Configuration& configuration) override {
    if (configuration.name.find("too large") != std::string::npos) {
      throw CaseStopped(Outcome::skipped, "needs 3.1 GiB of workspace, 2.0 GiB are free");
    }
    prepared_.push_back(configuration.name);
    const std::size_t index = prepared_.size() - 1;
    return {{configuration.name, 0, [this, index](const Problem&, void*, cudaStream_t) { current_ = index; }}, nullptr};
  }
  void verify(const Prepared& prepared, std::string_view when) override {
    prepared({}, nullptr);
    const std::string& name = prepared_[current_];
    const bool later = !when.empty();
    if (name.find(later ? "wrong later" : "wrong at once") != std::string::npos) {
      throw CaseStopped(Outcome::incorrect, std::string(when) + "C is wrong");
    }
    if (!later && name.find("fails") != std::string::npos) {
      throw CaseStopped(Outcome::failed, "an error");
    }
  }
  void require_possible(double us, int) override {
    if (us < 5.0) {
      throw CaseStopped(Outcome::implausible, "too fast");
    }
  }
  Round round_of(const std::vector<Prepared>& all) override {
    std::vector<double> times;
    for (const Prepared& each : all) {
      each({}, nullptr);
      times.push_back(std::stod(prepared_[current_]));
      timed.push_back(prepared_[current_]);
    }
    return [times](const std::vector<int>&, int) { return times; };
  }

  Names timed;

 private:
  Names prepared_;
  std::size_t current_ = 0;
};

std::vector<Trial> trials_of(const Names& names, FakeBench& bench) {
  const FakeClock clock;
  return try_all(named(names), bench, {1, true, 1.0, 1, {}, clock.now()}, [](std::string_view) {});
}

std::optional<TuningEntry> best(const std::vector<Trial>& trials) {
  return best_of(trials, "09_every_shape", packed({4, 4, 8}, nullptr, nullptr, nullptr));
}

TEST(Tuner, FastestWins) {
  FakeBench bench;
  const std::vector<Trial> trials = trials_of({"120 us", "100 us", "110 us"}, bench);
  ASSERT_EQ(trials.size(), 3U);
  for (const Trial& trial : trials) {
    EXPECT_EQ(trial.outcome, Outcome::measured);
    EXPECT_EQ(trial.times_us.size(), static_cast<std::size_t>(MIN_SAMPLES));
    EXPECT_FALSE(trial.dropped);
  }
  const auto entry = best(trials);
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->kernel, "09_every_shape");
  EXPECT_EQ(entry->size, (Size{4, 4, 8}));
  EXPECT_TRUE(entry->float4_rows);
  EXPECT_EQ(entry->configuration, "100 us");
  EXPECT_EQ(entry->time_us, 100.0);
  EXPECT_EQ(entry->model_choice, "120 us");
  EXPECT_EQ(entry->model_time_us, 120.0);
}

TEST(Tuner, HopelessOnesAreDroppedAndTheModelsChoiceIsNot) {
  FakeBench bench;
  const std::vector<Trial> trials = trials_of({"500 us", "100 us", "400 us", "149 us"}, bench);
  EXPECT_EQ(trials[0].times_us.size(), static_cast<std::size_t>(MIN_SAMPLES));
  EXPECT_FALSE(trials[0].dropped);
  EXPECT_EQ(trials[2].times_us.size(), static_cast<std::size_t>(FEWEST_SAMPLES));
  EXPECT_TRUE(trials[2].dropped);
  EXPECT_FALSE(trials[3].dropped);
  EXPECT_EQ(best(trials)->configuration, "100 us");
}

TEST(Tuner, WhatDoesNotVerifyIsReportedAndNeverChosen) {
  FakeBench bench;
  const std::vector<Trial> trials =
      trials_of({"100 us", "10 us wrong at once", "20 us wrong later", "30 us fails", "40 us too large"}, bench);
  EXPECT_EQ(trials[1].outcome, Outcome::incorrect);
  EXPECT_EQ(trials[1].reason, "C is wrong");
  EXPECT_TRUE(trials[1].times_us.empty());
  EXPECT_EQ(trials[2].outcome, Outcome::incorrect);
  EXPECT_EQ(trials[2].reason, "after timing: C is wrong");
  EXPECT_EQ(trials[3].outcome, Outcome::failed);
  EXPECT_EQ(trials[4].outcome, Outcome::skipped);
  EXPECT_EQ(trials[4].reason, "needs 3.1 GiB of workspace, 2.0 GiB are free");
  EXPECT_EQ(bench.timed, (Names{"100 us", "20 us wrong later"}));
  EXPECT_EQ(best(trials)->configuration, "100 us");
}

TEST(Tuner, WhatIsFasterThanAGpuIsNeverChosen) {
  FakeBench bench;
  const std::vector<Trial> trials = trials_of({"100 us", "1 us"}, bench);
  EXPECT_EQ(trials[1].outcome, Outcome::implausible);
  EXPECT_EQ(trials[1].reason, "too fast");
  EXPECT_EQ(best(trials)->configuration, "100 us");
}

TEST(Tuner, ModelsChoiceThatIsWrongHasNoTime) {
  FakeBench bench;
  const auto entry = best(trials_of({"10 us wrong at once", "100 us"}, bench));
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->configuration, "100 us");
  EXPECT_EQ(entry->model_choice, "10 us wrong at once");
  EXPECT_FALSE(entry->model_time_us);
}

TEST(Tuner, NothingIsBestWhereNothingIsRight) {
  FakeBench bench;
  const std::vector<Trial> trials = trials_of({"10 us wrong at once", "20 us fails"}, bench);
  EXPECT_TRUE(bench.timed.empty());
  EXPECT_FALSE(best(trials));
}

TEST(Tuner, AnInterruptEndsTheCaseAndNotOneConfiguration) {
  FakeBench bench;
  const StopToken interrupted([] { return true; });
  EXPECT_THROW(try_all(named({"10 us"}), bench, {1, true, 1.0, 1, interrupted}, [](std::string_view) {}), CaseStopped);
}

TEST(Tuner, ErrorsWhileTimingEndTheCase) {
  class Failing final : public TuningBench {
    Prepared prepare(const Configuration&) override { return {}; }
    void verify(const Prepared&, std::string_view) override {}
    void require_possible(double, int) override {}
    Round round_of(const std::vector<Prepared>&) override {
      return [](const std::vector<int>&, int) -> std::vector<double> {
        throw CaseStopped(Outcome::failed, "while timing");
      };
    }
  };
  Failing bench;
  EXPECT_THROW(try_all(named({"a", "b"}), bench, {1, true, 1.0, 1}, [](std::string_view) {}), CaseStopped);
}

}  // namespace
}  // namespace sgemm
