// What a results file has of a case. records.txt has the records of samples, a line for each entry. With
// SGEMM_WRITE_PAGE set the test writes it anew: the difference shows what a change does.

#include "record/record.hpp"

#include "page.hpp"
#include "record_samples.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace sgemm {
namespace {

using Json = nlohmann::ordered_json;

/// Of a kernel on the CPU, which has neither pairs nor resources.
Record on_the_cpu(const Size& size) {
  const Kernel kernel = fake_cpu_kernel("cpu_blas");
  Record record({&kernel, size, {}});
  Timings timings;
  timings.kernel_us = {5000.0};
  record.measurement = measurement_of(timings, size);
  return record;
}

Record without_flops() {
  Counts counts = counts_of_launch();
  counts.launches.front().requests.flops.reset();
  return counted_record(counts);
}

/// With numbers that JSON can not say.
Record with_infinite_errors() {
  Record record = compared_record();
  record.rel_err = std::numeric_limits<double>::quiet_NaN();
  record.max_bound_ratio = record.errors->verdict.componentwise_err = std::numeric_limits<double>::infinity();
  return record;
}

/// Turns of which nobody knows the energy, and none of cuBLAS.
Record with_unknown_energy() {
  Record record = record_with_energy();
  Turn without = turn_of(100.0, {});
  without.trace = {{}, "NVML is missing"};
  record.energy = to_json(Turns{without, {}}, flops(CUBE));
  return record;
}

Record sustained_without_cublas() {
  Record record = sustained_record();
  record.sustained = to_json(Sustained{1.0, {turn_of(100.0, {}), {}}, {}, {}}, flops(CUBE));
  return record;
}

Record stopped(Record record) {
  record.stop(Outcome::incorrect, "because");
  return record;
}

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
  for (const auto& [title, record] :
       std::vector<std::pair<std::string, Record>>{{"measured", measured_record()},
                                                   {"three samples", of_three_samples()},
                                                   {"with energy", record_with_energy()},
                                                   {"with unknown energy", with_unknown_energy()},
                                                   {"sustained", sustained_record()},
                                                   {"sustained without cuBLAS", sustained_without_cublas()},
                                                   {"sustained, and wrong", stopped(sustained_record())},
                                                   {"executed", executed_record()},
                                                   {"compared", compared_record()},
                                                   {"infinite errors", with_infinite_errors()},
                                                   {"counted", counted_record()},
                                                   {"counted without operations", without_flops()},
                                                   {"counted, and wrong", stopped(counted_record())},
                                                   {"two launches", record_of_two_counted_launches()},
                                                   {"on the CPU", on_the_cpu({512, 256, 64})},
                                                   {"a batch", on_the_cpu({512, 256, 64, true, false, 96})},
                                                   {"stopped", stopped_record(Outcome::failed, "out of order")}}) {
    page += "## " + title + "\n\n";
    const Json json = rounded(to_json(record, 1));
    for (const auto& [name, entry] : json.items()) {
      page += name + ": " + entry.dump() + '\n';
    }
    page += '\n';
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

/// Over two GPUs, the second of which was throttled.
Spread spread_over_two() {
  const TelemetrySample cool{1980, 3201, 310.5, 45, {}};
  const TelemetrySample hot{1965, 3201, 699.0, 51, {"sw_power_cap"}};
  return {2, {1, 2}, "peer copies", 18432.0, {{cool, cool}, {cool, hot}}, {90.0, 91.0}, 0.9, Interval{0.89, 0.91}};
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
  Record of_file = executed_record();
  of_file.file = KernelFile{"dir/my.cu", "", "g++ -O2"};
  Record of_ranks = executed_record();
  of_ranks.spread = to_json(spread_over_two());
  for (const Record& record :
       {measured_record(), record_with_energy(), sustained_record(), executed_record(), compared_record(),
        counted_record(), record_of_two_counted_launches(), of_file, of_ranks,
        stopped_record(Outcome::failed, "out of order"), stopped_record(Outcome::not_supported, "too large")}) {
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
