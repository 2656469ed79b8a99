#include "record/record.hpp"

#include "record_samples.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace sgemm {
namespace {

using Json = nlohmann::ordered_json;

TEST(Record, MeasuredCaseCarriesEverything) {
  const Json json = to_json(measured_record(), 1);
  EXPECT_EQ(json.at("name"), "sgemm/06_coarse_2d:vectorized/1024x1024x1024");
  EXPECT_EQ(json.at("run_name"), json.at("name"));
  EXPECT_EQ(json.at("run_type"), "iteration");
  EXPECT_EQ(json.at("kernel"), "06_coarse_2d:vectorized");
  EXPECT_EQ(json.at("number"), 6);
  EXPECT_EQ(json.at("variant"), "vectorized");
  EXPECT_EQ(json.at("platform"), "gpu");
  EXPECT_EQ(json.at("outcome"), "measured");
  EXPECT_EQ(json.at("reason"), "");
  EXPECT_EQ(json.at("iterations"), 7);
  EXPECT_DOUBLE_EQ(json.at("real_time"), 100.0);
  EXPECT_DOUBLE_EQ(json.at("cpu_time"), 100.0);
  EXPECT_EQ(json.at("time_unit"), "us");
  EXPECT_DOUBLE_EQ(json.at("gflops"), 2.0 * 1024 * 1024 * 1024 / 100e3);
  EXPECT_NEAR(json.at("vs_cublas"), 0.8, 1e-3);
  EXPECT_LE(json.at("vs_cublas_ci")[0], json.at("vs_cublas"));
  EXPECT_GE(json.at("vs_cublas_ci")[1], json.at("vs_cublas"));
  EXPECT_EQ(json.at("samples_us").size(), json.at("cublas_samples_us").size());
  EXPECT_EQ(json.at("registers"), 128);
  EXPECT_EQ(json.at("detail"), "64x64, by cost model");
  EXPECT_EQ(json.at("workspace_bytes"), 4096);
  EXPECT_EQ(json.at("telemetry").at("end").at("throttle_reasons"), Json::array({"sw_power_cap"}));
  EXPECT_EQ(json.at("throttled"), true);
}

TEST(Record, LayoutsAndBatchesAreNamedWhereThereAreAny) {
  Timings timings;
  timings.kernel_us = {100.0};
  const auto json_of = [&](const Size& size) {
    const Kernel kernel = fake_cpu_kernel("cpu_blas");
    Record record({&kernel, size, {}});
    record.measurement = measurement_of(timings, size);
    return to_json(record, 1);
  };
  const Json batch = json_of({512, 256, 64, true, false, 96});
  EXPECT_EQ(batch.at("name"), "sgemm/cpu_blas/96x512x256x64:tn");
  EXPECT_EQ(batch.at("ops"), "tn");
  EXPECT_EQ(batch.at("batch"), 96);
  EXPECT_EQ(batch.at("m"), 512);
  EXPECT_DOUBLE_EQ(batch.at("gflops"), 2.0 * 96 * 512 * 256 * 64 / 100e3);
  const Json plain = json_of({512, 256, 64});
  EXPECT_EQ(plain.at("name"), "sgemm/cpu_blas/512x256x64");
  EXPECT_FALSE(plain.contains("ops"));
  EXPECT_FALSE(plain.contains("batch"));
}

TEST(Record, TheRatioIsAMedianOfPairsAndNotARatioOfMedians) {
  Timings timings;
  timings.kernel_us = {100.0, 200.0, 400.0};  // the clock halves twice, for both
  timings.rival_us = {50.0, 100.0, 200.0};
  EXPECT_DOUBLE_EQ(*measurement_of(timings, CUBE).vs_cublas, 0.5);
  timings.rival_us = {400.0, 50.0, 100.0};
  EXPECT_DOUBLE_EQ(*measurement_of(timings, CUBE).vs_cublas, 0.25);
}

TEST(Record, CaseWithoutMeasurementHasNoTimesAndNoSpeed) {
  for (const Outcome outcome :
       {Outcome::incorrect, Outcome::implausible, Outcome::failed, Outcome::not_supported, Outcome::skipped}) {
    Record record = measured_record();
    record.stop(outcome, "because");
    const Json json = to_json(record, 1);
    EXPECT_EQ(json.at("outcome"), to_string(outcome));
    EXPECT_EQ(json.at("reason"), "because");
    EXPECT_EQ(json.at("verified"), false);
    for (const char* const absent :
         {"real_time", "cpu_time", "iterations", "gflops", "percent_of_peak", "vs_cublas", "vs_cublas_ci",
          "vs_cublas_alone", "cublas_alone_us", "time_us", "samples_us", "cublas_samples_us", "launches_per_sample"}) {
      EXPECT_FALSE(json.contains(absent)) << absent;
    }
    EXPECT_TRUE(json.contains("rel_err"));
  }
}

TEST(Record, ExecutedCaseIsVerifiedAndHasNoTimes) {
  const Json json = to_json(executed_record(), 1);
  EXPECT_EQ(json.at("outcome"), "executed");
  EXPECT_EQ(json.at("platform"), "gpu");
  EXPECT_EQ(json.at("verified"), true);
  EXPECT_TRUE(json.contains("rel_err"));
  for (const char* const absent : {"real_time", "gflops", "vs_cublas", "time_us", "samples_us", "registers"}) {
    EXPECT_FALSE(json.contains(absent)) << absent;
  }
}

TEST(Record, ComparedCaseHasErrorsAndNoTimes) {
  const Json json = to_json(compared_record(), 1);
  EXPECT_EQ(json.at("name"), "sgemm/06_coarse_2d/1024x1024x1024/cancelling");
  EXPECT_EQ(json.at("outcome"), "compared");
  EXPECT_EQ(json.at("data"), "cancelling");
  EXPECT_EQ(json.at("verified"), true);
  EXPECT_DOUBLE_EQ(json.at("rel_err"), 5.9e-4);
  const Json& accuracy = json.at("accuracy");
  EXPECT_EQ(accuracy, (Json{{"promised", true},
                            {"full", true},
                            {"compared", 1 << 20},
                            {"wrong", 0},
                            {"non_finite", 0},
                            {"non_finite_wrong", 0},
                            {"componentwise_err", 1.5e-7},
                            {"condition", 34800.0},
                            {"rel_err_vs_cublas", 1.25}}));
  EXPECT_FALSE(json.contains("gflops"));
  Record infinite = compared_record();
  infinite.errors->verdict.componentwise_err = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(to_json(infinite, 1).at("accuracy").contains("componentwise_err"));
  EXPECT_FALSE(to_json(executed_record(), 1).contains("data"));
}

TEST(Record, CountedCaseHasCountsAndNoTimes) {
  const Json json = to_json(counted_record(), 1);
  EXPECT_EQ(json.at("outcome"), "counted");
  EXPECT_EQ(json.at("time_unit"), "none");
  EXPECT_FALSE(json.contains("real_time"));
  const Json& counts = json.at("counts");
  EXPECT_EQ(counts.at("gpu_model").at("id"), "h200");
  EXPECT_EQ(counts.at("resident_blocks"), 264);
  EXPECT_EQ(counts.at("global_loads"), (Json{{"requests", 1000}, {"sectors", 2500}, {"bytes", 128000}}));
  EXPECT_EQ(counts.at("shared_loads").at("conflicts"), 1000);
  EXPECT_EQ(counts.at("async_copies").at("requests"), 0);
  EXPECT_EQ(counts.at("l2").at("in_step").at("read_bytes"), 96000);
  EXPECT_DOUBLE_EQ(counts.at("l2").at("in_turn").at("hit_rate"), 0.25);
  const Json& product = counts.at("lines").at(0);
  EXPECT_EQ(product.at("kind"), "flops");
  EXPECT_FALSE(product.contains("example"));
  const Json& lanes = counts.at("lines").at(1).at("example").at("lanes");
  EXPECT_EQ(lanes.size(), 32U);
  EXPECT_EQ(lanes.at(1), 16384);
  EXPECT_TRUE(lanes.at(2).is_null());

  Counts without_objdump = counts_of_launch();
  without_objdump.launches.front().requests.flops.reset();
  EXPECT_FALSE(to_json(without_objdump).contains("flops"));
  Record stopped = counted_record();
  stopped.stop(Outcome::incorrect, "because");
  EXPECT_FALSE(to_json(stopped, 1).contains("counts"));
}

TEST(Record, LaunchesHaveTheirCountsBesideTheSum) {
  const Json counts = to_json(record_of_two_counted_launches(), 1).at("counts");
  EXPECT_EQ(counts.at("blocks"), 6);
  EXPECT_EQ(counts.at("blocks_executed"), 4);
  EXPECT_EQ(counts.at("global_stores").at("bytes"), 64000);
  EXPECT_EQ(counts.at("global_loads").at("bytes"), 128000);
  EXPECT_EQ(counts.at("flops"), 2'147'483'648 + 1'048'576);
  EXPECT_EQ(counts.at("reads_per_element"), (Json{{"a", 9.0}, {"b", 17.0}, {"c", 0.0}}));
  EXPECT_EQ(counts.at("l2").at("in_step").at("read_bytes"), 96000 + 64000);
  EXPECT_DOUBLE_EQ(counts.at("l2").at("in_step").at("hit_rate"), 0.3);
  for (const char* const of_one_launch : {"threads_per_block", "blocks_per_sm", "first_wave", "lines"}) {
    EXPECT_FALSE(counts.contains(of_one_launch));
  }
  const Json& launches = counts.at("launches");
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_EQ(launches.at(0).at("function"), "split_kernel<true>");
  EXPECT_EQ(launches.at(0).at("lines").at(0).at("array"), "workspace");
  Json product = launches.at(1);
  EXPECT_EQ(product.at("tensor_flops"), 4'294'967'296);
  product.erase("function");
  product.erase("tensor_flops");
  Json alone = to_json(counted_record(), 1).at("counts");
  alone.erase("gpu_model");
  EXPECT_EQ(product, alone);
}

TEST(Record, CpuCaseHasNoPairsAndNoResources) {
  const Kernel kernel = fake_cpu_kernel("cpu_blas");
  Record record({&kernel, CUBE, {}});
  Timings timings;
  timings.kernel_us = {5000.0};
  record.measurement = measurement_of(timings, CUBE);
  const Json json = to_json(record, 1);
  EXPECT_EQ(json.at("platform"), "cpu");
  EXPECT_TRUE(json.at("telemetry").is_null());
  for (const char* const absent : {"vs_cublas", "vs_cublas_ci", "cublas_samples_us", "percent_of_peak", "registers"}) {
    EXPECT_FALSE(json.contains(absent)) << absent;
  }
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

TEST(Record, IsReadBackAsItWasWritten) {
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
    EXPECT_EQ(to_json(record_from_json(item, json), 1), json);
  }
}

TEST(Record, EnergyIsOfTheKernelAndOfCublasBesideIt) {
  const Json json = to_json(record_with_energy(), 1);
  const Json& kernel = json.at("energy").at("kernel");
  EXPECT_NEAR(kernel.at("joules_per_product"), 700.0 * 100e-6, 1e-3);
  EXPECT_NEAR(kernel.at("watts"), 700.0, 8.0);
  EXPECT_NEAR(kernel.at("gflops_per_watt"), 2.0 * 1024 * 1024 * 1024 / 1e9 / 0.07, 4.0);
  EXPECT_EQ(kernel.at("energy").at("source"), "counter");
  EXPECT_EQ(kernel.at("trace").at("throttle_shares"), (Json{{"sw_power_cap", 1.0}}));
  EXPECT_EQ(kernel.at("trace").at("samples").at("sm_clock_mhz").size(),
            kernel.at("trace").at("samples").at("ms").size());
  EXPECT_NEAR(json.at("energy").at("cublas").at("joules_per_product"), 400.0 * 80e-6, 1e-3);
  EXPECT_EQ(json.at("throttled"), false) << "the samples ran on a cool board, whatever came after";
  Turn without = turn_of(100.0, {});
  without.trace = {{}, "NVML is missing"};
  const Json unknown = to_json(Turns{without, {}}, flops(CUBE)).at("kernel");
  EXPECT_EQ(unknown.at("no_energy"), "NVML is missing");
  EXPECT_FALSE(unknown.contains("joules_per_product"));
  EXPECT_FALSE(unknown.contains("watts"));
}

TEST(Record, SustainedCaseHasNothingOfABurst) {
  const Json json = to_json(sustained_record(), 1);
  EXPECT_EQ(json.at("outcome"), "sustained");
  for (const char* const absent : {"real_time", "gflops", "vs_cublas", "time_us", "samples_us", "energy", "trace"}) {
    EXPECT_FALSE(json.contains(absent)) << absent;
  }
  const Json& sustained = json.at("sustained");
  EXPECT_NEAR(sustained.at("kernel").at("gflops"), 2.0 * 1024 * 1024 * 1024 / 100e3, 1e-6);
  EXPECT_EQ(sustained.at("cool_downs").at("before_cublas"), (Json{{"seconds", 12.5}, {"from_c", 60}, {"to_c", 42}}));
  EXPECT_EQ(json.at("throttled"), true);
  EXPECT_FALSE(to_json(Sustained{1.0, {turn_of(100.0, {}), {}}, {}, {}}, flops(CUBE)).contains("cublas"));
  Record wrong = sustained_record();
  wrong.stop(Outcome::incorrect, "because");
  EXPECT_FALSE(to_json(wrong, 1).contains("sustained"));
}

TEST(Record, FewSamplesSayHowMuchTheirIntervalCovers) {
  Record record = measured_record();
  Timings timings;
  timings.kernel_us = {100.0, 101.0, 99.0};
  record.measurement = measurement_of(timings, CUBE);
  EXPECT_DOUBLE_EQ(to_json(record, 1).at("time_us").at("ci_covers"), 0.75);
  EXPECT_DOUBLE_EQ(to_json(measured_record(), 1).at("time_us").at("ci_covers"), 0.95);
}

TEST(Record, NumbersThatJsonCanNotSayAreAbsent) {
  Record record = stopped_record(Outcome::incorrect, "all of it");
  record.rel_err = std::numeric_limits<double>::quiet_NaN();
  record.max_bound_ratio = std::numeric_limits<double>::infinity();
  const Json json = to_json(record, 1);
  EXPECT_FALSE(json.contains("rel_err"));
  EXPECT_FALSE(json.contains("max_bound_ratio"));
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

}  // namespace
}  // namespace sgemm
