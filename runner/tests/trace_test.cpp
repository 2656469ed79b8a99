#include "device/trace.hpp"

#include "fake_telemetry.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace sgemm {
namespace {

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

TEST(Trace, ATraceOfNothingHasNoMeans) {
  const Trace nothing;
  EXPECT_FALSE(nothing.mean_sm_clock_mhz());
  EXPECT_EQ(nothing.throttled_share(), 0.0);
  EXPECT_FALSE(energy_of(nothing).use);
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

TEST(Watch, WithoutNvmlThereIsAReason) {
  Watch watch(nullptr);
  const Trace trace = watch.stop();
  EXPECT_TRUE(trace.points.empty());
  EXPECT_EQ(energy_of(trace).reason, "NVML is missing or does not know this GPU");
}

}  // namespace
}  // namespace sgemm
