// What a results file has of a case. records.txt has the records of samples, a line for each entry in which a sample
// differs from the one above it. With SGEMM_WRITE_PAGE set the test writes it anew: the difference shows what a change
// does.

#include "record/record.hpp"

#include "page.hpp"
#include "record_samples.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace sgemm {
namespace {

using Json = nlohmann::ordered_json;

/// Ten digits of each number, which all machines agree in.
Json rounded(Json json) {
  if (json.is_number_float()) {
    return Json::parse(fmt::format("{:.10g}", json.get<double>()));
  }
  if (json.is_structured()) {
    for (Json& entry : json) {
      entry = rounded(entry);
    }
  }
  return json;
}

TEST(Record, IsWhatItWas) {
  std::string page;
  Json above = Json::object();
  for (const auto& [title, record] : sample_records()) {
    page += "## " + title + "\n\n";
    Json json = rounded(to_json(record, 1));
    for (const auto& [name, entry] : json.items()) {
      if (!above.contains(name) || above[name].dump() != entry.dump()) {
        page += name + ": " + entry.dump() + '\n';
      }
    }
    for (const auto& [name, entry] : above.items()) {
      page += json.contains(name) ? "" : "no " + name + '\n';
    }
    page += '\n';
    above = std::move(json);
  }
  expect_page("records.txt", page);
}

TEST(Record, TheRatioIsAMedianOfPairsAndNotARatioOfMedians) {
  Timings timings;
  timings.kernel_us = {100.0, 200.0, 400.0};  // the clock halves twice, for both
  timings.rival_us = {50.0, 100.0, 200.0};
  EXPECT_DOUBLE_EQ(*measurement_of(timings, CUBE).vs_cublas, 0.5);
  timings.rival_us = {400.0, 50.0, 100.0};
  EXPECT_DOUBLE_EQ(*measurement_of(timings, CUBE).vs_cublas, 0.25);
}

TEST(Record, OneThrottledGpuOfSeveralIsNoted) {
  Record record = executed_record();
  Spread spread = spread_over_two();
  record.spread = to_json(spread);
  EXPECT_TRUE(record.throttled());
  spread.telemetry.pop_back();
  record.spread = to_json(spread);
  EXPECT_FALSE(record.throttled());
}

TEST(Record, OfAnotherProcessIsWrittenAsItWasTold) {
  for (const auto& [title, record] : sample_records()) {
    SCOPED_TRACE(title);
    Kernel kernel = fake_kernel(record.number, record.kernel.substr(3, record.kernel.find(':') - 3), record.variant);
    kernel.file = record.file;
    const Case item{&kernel, record.size, record.data};
    const Json json = to_json(record, 1);
    const Record told = told_record(item, json);
    EXPECT_EQ(to_json(told, 1), json);
    EXPECT_EQ(told.outcome, record.outcome);
    EXPECT_EQ(told.reason, record.reason);
    EXPECT_EQ(told.throttled(), record.throttled());
    EXPECT_EQ(told.counts, record.counts);
  }
}

TEST(Telemetry, ReasonsHaveNamesAndOnlySomeThrottle) {
  EXPECT_EQ(throttle_reason_names(0), std::vector<std::string>{});
  EXPECT_EQ(throttle_reason_names(0x1 | 0x4 | 0x40),
            (std::vector<std::string>{"gpu_idle", "sw_power_cap", "hw_thermal_slowdown"}));
  TelemetrySample sample;
  sample.throttle_reasons = {"gpu_idle", "applications_clocks_setting"};
  EXPECT_FALSE(sample.throttled());
  sample.throttle_reasons = {"hw_power_brake_slowdown"};
  EXPECT_TRUE(sample.throttled());
}

TEST(Telemetry, PowerAtItsLimitThrottlesWithoutAReasonOfTheDriver) {
  const auto reasons_at = [](double power_w, std::optional<double> instant_power_w, std::vector<std::string> reasons) {
    TelemetrySample sample;
    sample.power_w = power_w;
    sample.instant_power_w = instant_power_w;
    sample.throttle_reasons = std::move(reasons);
    note_power_at(700.0, sample);
    EXPECT_EQ(sample.throttled(), !sample.throttle_reasons.empty());
    return sample.throttle_reasons;
  };
  EXPECT_EQ(reasons_at(705.0, 650.0, {}), std::vector<std::string>{}) << "the mean of the second before";
  EXPECT_EQ(reasons_at(600.0, 700.0, {}), std::vector<std::string>{"power_at_limit"});
  EXPECT_EQ(reasons_at(700.0, {}, {}), std::vector<std::string>{"power_at_limit"});
  EXPECT_EQ(reasons_at(600.0, 704.0, {"sw_power_cap"}), std::vector<std::string>{"sw_power_cap"}) << "once";
}

}  // namespace
}  // namespace sgemm
