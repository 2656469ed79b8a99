#include "timing/turn.hpp"

#include "device/trace.hpp"
#include "fake_telemetry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <thread>
#include <vector>

namespace sgemm {
namespace {

const Observer SILENT = [](std::string_view) {};

/// A GPU whose launches take a fixed time, which passes at once.
class FakeQueue final : public LaunchQueue {
 public:
  explicit FakeQueue(double launch_us) : launch_us_(launch_us) {}

  void enqueue(int launches) override {
    batches.push_back(launches);
    under_way_.push_back(launches);
    most_under_way = std::max(most_under_way, under_way_.size());
  }
  double finish() override {
    const double us = under_way_.front() * launch_us_;
    under_way_.pop_front();
    return us;
  }
  bool idle() const { return under_way_.empty(); }

  std::vector<int> batches;
  std::size_t most_under_way = 0;

 private:
  double launch_us_;
  std::deque<int> under_way_;
};

TEST(Turn, LastsAsLongAsAskedInBatchesThatFollowEachOther) {
  FakeQueue queue(100.0);
  const Turn turn = take_turn(queue, 1.0, nullptr, {}, SILENT);
  EXPECT_NEAR(turn.seconds(), 1.0, BATCH_SECONDS);
  EXPECT_EQ(turn.launches_per_batch, 200);
  EXPECT_NEAR(turn.launch_us(), 100.0, 1e-9);
  EXPECT_EQ(turn.launches(), 10000);
  EXPECT_EQ(queue.most_under_way, 2U) << "the next batch waits while one runs, so that there is no pause";
  EXPECT_TRUE(queue.idle());
  EXPECT_FALSE(turn.cut_short);
}

TEST(Turn, ALaunchLongerThanTheTurnIsDoneOnce) {
  FakeQueue queue(3e6);
  const Turn turn = take_turn(queue, 1.0, nullptr, {}, SILENT);
  EXPECT_EQ(turn.launches(), 1);
  EXPECT_NEAR(turn.seconds(), 3.0, 1e-9);
}

int asked = 0;

TEST(Turn, ARequestToStopEndsItAndKeepsWhatItHas) {
  FakeQueue queue(100.0);
  asked = 0;
  const StopToken after_some([] { return ++asked > 20; });
  const Turn turn = take_turn(queue, 3600.0, nullptr, after_some, SILENT);
  EXPECT_TRUE(turn.cut_short);
  EXPECT_GT(turn.launches(), 0);
  EXPECT_LT(turn.seconds(), 1.0);
  EXPECT_TRUE(queue.idle());
  const StopToken at_once([] { return true; });
  EXPECT_EQ(take_turn(queue, 1.0, nullptr, at_once, SILENT).launches(), 0);
}

/// A turn of launches that took `us` each, two in each batch, on a board.
Turn turn_on(const FakeBoard& board, double us, double seconds) {
  Turn turn;
  turn.launches_per_batch = 2;
  turn.batch_us.assign(static_cast<std::size_t>(seconds * 1e6 / (2 * us)), 2 * us);
  turn.trace = board.watch(seconds);
  return turn;
}

TEST(ProductEnergy, IsPowerTimesTheTimeOfALaunch) {
  const ProductEnergy energy = product_energy(turn_on({}, 5000.0, 1.0));
  ASSERT_TRUE(energy.use);
  EXPECT_NEAR(energy.joules, 700.0 * 5e-3, 700.0 * 5e-3 * energy.use->uncertainty);
}

TEST(ProductEnergy, CountsTheLaunchesOfTheTimeThatTheEnergyIsOf) {
  // The first launches are twice as fast as those between the counter's first step, at 0.07 s, and its last.
  Turn turn = turn_on({}, 5000.0, 1.0);
  for (std::size_t i = 0; i < 7; ++i) {
    turn.batch_us[i] /= 2.0;
  }
  turn.batch_us.insert(turn.batch_us.begin(), 7, 5000.0);
  const ProductEnergy energy = product_energy(turn);
  ASSERT_TRUE(energy.use);
  EXPECT_NEAR(energy.joules, 700.0 * 5e-3, 0.02 * 3.5);
  EXPECT_LT(turn.launch_us(), 4900.0) << "the mean of the whole turn is not what the energy belongs to";
}

TEST(Turn, ALaunchUnderWayCountsByTheShareThatIsDone) {
  Turn turn;
  turn.launches_per_batch = 4;
  turn.batch_us = {1e6, 2e6};
  EXPECT_DOUBLE_EQ(turn.launches_until(0.5), 2.0);
  EXPECT_DOUBLE_EQ(turn.launches_until(1.5), 5.0);
  EXPECT_DOUBLE_EQ(turn.launches_until(9.0), 8.0);
}

TEST(ProductEnergy, HasAReasonWhereItIsUnknown) {
  Turn turn = turn_on({}, 5000.0, 1.0);
  turn.trace = {{}, "MIG is on"};
  EXPECT_FALSE(product_energy(turn).use);
  EXPECT_EQ(product_energy(turn).reason, "MIG is on");
}

TEST(CoolDown, EndsAtTheTemperatureBeforeTheFirstTurn) {
  FakeTelemetry telemetry(FakeBoard{}.at(0.0));
  int celsius = 60;
  const Pause cooling = [&](double) { telemetry.heat_to(--celsius); };
  const CoolDown idle = cool_down(&telemetry, 40, cooling, {}, SILENT);
  EXPECT_EQ(idle.from_c, 60);
  EXPECT_EQ(idle.to_c, 40 + COOL_KELVIN);
  EXPECT_NEAR(idle.seconds, 18 * 0.5, 1e-9);
  EXPECT_EQ(cool_down(&telemetry, 40, cooling, {}, SILENT).seconds, 0.0) << "cool already";
}

TEST(CoolDown, TakesNoLongerThanItMay) {
  FakeTelemetry telemetry(FakeBoard{}.at(0.0));
  double waited = 0.0;
  const Pause pause = [&](double seconds) { waited += seconds; };
  EXPECT_NEAR(cool_down(&telemetry, 20, pause, {}, SILENT).seconds, COOL_SECONDS, 1e-9);
  EXPECT_NEAR(waited, COOL_SECONDS, 1e-9);
  EXPECT_NEAR(cool_down(nullptr, std::nullopt, pause, {}, SILENT).seconds, COOL_SECONDS, 1e-9) << "no thermometer";
  EXPECT_EQ(cool_down(nullptr, std::nullopt, pause, StopToken([] { return true; }), SILENT).seconds, 0.0);
}

TEST(Trace, MeansAreOverTimeAndNotOverSamples) {
  Trace trace;
  for (const auto& [seconds, clock] :
       {std::pair(0.0, 2000), std::pair(0.1, 2000), std::pair(0.2, 1000), std::pair(1.0, 1000)}) {
    TelemetrySample sample;
    sample.sm_clock_mhz = clock;
    trace.points.push_back({seconds, sample});
  }
  // The first two stand for 0.15 s of 1 s, the last two for the rest.
  EXPECT_NEAR(*trace.mean_sm_clock_mhz(), 1150.0, 1e-9);
  EXPECT_FALSE(trace.mean_power_w());
}

TEST(Trace, ThrottlingHasItsShareOfTheTimeAndItsReasons) {
  Trace trace = FakeBoard{}.watch(1.0);
  for (std::size_t i = 0; i < trace.points.size(); ++i) {
    auto& reasons = trace.points[i].sample.throttle_reasons;
    reasons = i < 25   ? std::vector<std::string>{"sw_power_cap", "applications_clocks_setting"}
              : i < 50 ? std::vector<std::string>{"sw_power_cap", "hw_thermal_slowdown"}
                       : std::vector<std::string>{"gpu_idle"};
  }
  EXPECT_NEAR(trace.throttled_share(), 0.5, 0.01);
  const auto shares = trace.throttle_shares();
  ASSERT_EQ(shares.size(), 2U) << "reasons that lower no clock have no share";
  EXPECT_EQ(shares[0].first, "hw_thermal_slowdown");
  EXPECT_NEAR(shares[0].second, 0.25, 0.01);
  EXPECT_EQ(shares[1].first, "sw_power_cap");
  EXPECT_NEAR(shares[1].second, 0.5, 0.01);
}

TEST(Energy, IsThatBetweenTheFirstAndTheLastStepOfTheCounter) {
  const EnergyAnswer answer = energy_of(FakeBoard{}.watch(1.0));
  ASSERT_TRUE(answer.use);
  // The counter moves at 0.07 s, 0.17 s and so on to 0.97 s.
  EXPECT_NEAR(answer.use->from_s, 0.07, 0.006);
  EXPECT_NEAR(answer.use->to_s, 0.97, 0.006);
  EXPECT_NEAR(answer.use->joules, 0.9 * 700.0, 1e-6);
  EXPECT_NEAR(answer.use->mean_power_w(), 700.0, 700.0 * answer.use->uncertainty);
  EXPECT_NEAR(answer.use->uncertainty, 0.01 / 0.9, 1e-3);
}

TEST(Energy, HasAReasonWhereTheCounterDoesNotTell) {
  EXPECT_EQ(energy_of(FakeBoard{}.watch(0.1)).reason, "the launches ended before the energy counter had moved twice");
  Trace of_whole_gpu = FakeBoard{}.watch(2.0);
  of_whole_gpu.no_energy = "MIG is on";
  EXPECT_FALSE(energy_of(of_whole_gpu).use);
  EXPECT_EQ(energy_of(of_whole_gpu).reason, "MIG is on");
}

TEST(Watch, SamplesWhileSomethingElseRuns) {
  const FakeTelemetry telemetry(FakeBoard{}.at(0.0));
  Watch watch(&telemetry);
  while (telemetry.asked < 5) {
    std::this_thread::yield();
  }
  const Trace trace = watch.stop();
  EXPECT_EQ(static_cast<std::size_t>(telemetry.asked), trace.points.size());
  ASSERT_GE(trace.points.size(), 6U) << "five and the last one";
  const double periods = static_cast<double>(trace.points.size()) - 2.0;  // the last one comes when it is asked for
  EXPECT_GE(trace.points.back().seconds, periods * 0.01);
  EXPECT_EQ(trace.points.front().sample.sm_clock_mhz, 1500);
}

TEST(Watch, WithoutNvmlThereIsAReasonAndNoMean) {
  Watch watch(nullptr);
  const Trace trace = watch.stop();
  EXPECT_TRUE(trace.points.empty());
  EXPECT_FALSE(trace.mean_sm_clock_mhz());
  EXPECT_EQ(trace.throttled_share(), 0.0);
  EXPECT_EQ(energy_of(trace).reason, "NVML is missing or does not know this GPU");
}

}  // namespace
}  // namespace sgemm
