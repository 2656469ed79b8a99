// What a results file has of a case, and the file. records.txt has the records of samples, a line for each entry in
// which a sample differs from the one above it. With SGEMM_WRITE_PAGE set the test writes it anew: the difference shows
// what a change does.

#include "record/record.hpp"

#include "expectations.hpp"
#include "fakes.hpp"
#include "record/results_file.hpp"
#include "record_samples.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sgemm {
namespace {

namespace fs = std::filesystem;

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
  for (const bool throttled : {true, false}) {
    record.spread = to_json(spread);
    EXPECT_EQ(record.throttled(), throttled);
    spread.telemetry.pop_back();
  }
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

Verdict verdict_with(std::int64_t wrong) {
  Verdict verdict;
  verdict.compared = 4096;
  verdict.wrong = wrong;
  verdict.error_squares = 1e-6;
  verdict.reference_squares = 1.0;
  verdict.max_bound_ratio = wrong > 0 ? 7.0 : 0.7;
  return verdict;
}

TEST(Judge, RecordsErrorsAndRefusesThoseBeyondAPromisedBound) {
  using enum AccuracyClass;
  struct Row {
    AccuracyClass accuracy;
    std::optional<Distribution> data;  ///< nothing for what is timed, which has to be right
    bool promised;
  };
  for (const auto& [accuracy, data, promised] : {Row{fp32, {}, true},
                                                 {fp32, Distribution::normal, true},
                                                 {fp32, Distribution::denormals, true},
                                                 {tf32, {}, true},
                                                 {tf32, Distribution::denormals, false},
                                                 {fp16_split, Distribution::lognormal4, false},
                                                 {bf16_split, Distribution::lognormal4, true}}) {
    SCOPED_TRACE(fmt::format("{} {}", to_string(accuracy), data ? to_string(*data) : ""));
    Kernel kernel = fake_kernel(1, "naive");
    kernel.accuracy = accuracy;
    for (const std::int64_t wrong : {0, 3}) {
      Record record = record_of(kernel, CUBE, data);
      const std::string end = end_of([&] { record.judge(verdict_with(wrong), "after timing: "); });
      EXPECT_EQ(end.find("incorrect: after timing: 3 of 4096 elements wrong") == 0, promised && wrong > 0) << end;
      EXPECT_EQ(end.empty(), !promised || wrong == 0);
      EXPECT_EQ(record.verified, wrong == 0);
      EXPECT_EQ(record.rel_err, 1e-3);
      EXPECT_EQ(record.max_bound_ratio, wrong > 0 ? 7.0 : 0.7);
      ASSERT_EQ(record.errors.has_value(), data.has_value());
      if (data) {
        EXPECT_EQ(record.errors->promised, promised);
        EXPECT_EQ(record.errors->verdict.wrong, wrong);
        EXPECT_FALSE(record.errors->vs_cublas);
      }
    }
  }
}

using ResultsFileTest = TemporaryFolderTest;

Json context_with_device() {
  Protocol protocol;
  protocol.time = TimeMode::end_to_end;
  return describe_environment({"./runner", "--kernel", "caf\xe9"} /* not UTF-8 */, protocol, {fake_device(), ""},
                              {"580.1", std::size_t{1} << 28U, 2.1, 0.03});
}

Json context_without_device() {
  Protocol protocol;
  protocol.mode = Mode::accuracy;
  protocol.data = {Distribution::cancelling, Distribution::inf};
  return describe_environment({}, protocol, {std::nullopt, "no driver"}, {});
}

TEST(Slug, IsLowerCaseWithSingleHyphens) {
  EXPECT_EQ(slug("NVIDIA H200"), "nvidia-h200");
  EXPECT_EQ(slug("Intel(R) Xeon(R) CPU @ 2.70GHz"), "intel-r-xeon-r-cpu-2-70ghz");
  EXPECT_EQ(slug("../"), "unknown");
}

TEST_F(ResultsFileTest, RunsOfOneSecondHaveNamesOfTheirOwnFromTheStart) {
  std::vector<OutputFile> held;
  std::set<fs::path> names;
  for (int i = 0; i < 3; ++i) {
    held.push_back(OutputFile::unused(".", "20260102-030405", ".json"));
    names.insert(held.back().path());
  }
  EXPECT_EQ(names,
            (std::set<fs::path>{"./20260102-030405.json", "./20260102-030405-2.json", "./20260102-030405-3.json"}));
  held[0].write("mine");
  held.clear();
  EXPECT_EQ(files(), 1U) << "a run that has written nothing leaves nothing";
  EXPECT_EQ(OutputFile::unused(".", "20260102-030405", ".json").path(), "./20260102-030405-2.json");
  EXPECT_EQ(read("20260102-030405.json"), "mine");
  const fs::path path = results_file(std::nullopt, "NVIDIA H200").path();
  EXPECT_EQ(path.parent_path(), fs::path("results/nvidia-h200"));
}

TEST_F(ResultsFileTest, ANameIsHeldUntilTheEnd) {
  std::ofstream("out.json") << "old";
  std::optional<OutputFile> first(std::in_place, "out.json");
  const auto message = [] { return usage_message([] { OutputFile("out.json"); }); };
  EXPECT_EQ(message(), "can not write out.json: another run is writing it");
  EXPECT_EQ(read("out.json"), "old");
  for (const char* const content : {"one", "two"}) {
    first->write(content);
    EXPECT_EQ(message(), "can not write out.json: another run is writing it");
    EXPECT_EQ(read("out.json"), content);
  }
  first.reset();
  EXPECT_EQ(message(), "") << "an ended run holds nothing";
  EXPECT_EQ(read("out.json"), "two");
}

TEST_F(ResultsFileTest, CsvIsATableWithAHeader) {
  ResultsFile file(OutputFile("out.CSV"), context_with_device());
  constexpr std::string_view HEADER =
      "kernel,m,n,k,ops,batch,data,repetition_index,outcome,time_us,gflops,vs_cublas,vs_cublas_alone,cublas_alone_us,"
      "rel_err,reason\n";
  EXPECT_EQ(read("out.CSV"), HEADER);
  const Record measured = measured_record();
  file.add(measured);
  file.add(stopped_record(Outcome::failed, "\"quoted\", and a comma"));
  file.finish(false);
  const std::string text = read("out.CSV");
  ASSERT_TRUE(text.starts_with(HEADER));
  const Json json = to_json(measured, 1);
  EXPECT_NE(text.find(fmt::format(",measured,{},{},{},", json.at("time_us").at("median").dump(),
                                  json.at("gflops").dump(), json.at("vs_cublas").dump())),
            std::string::npos)
      << text;
  EXPECT_TRUE(text.ends_with(",failed,,,,,,,\"\"\"quoted\"\", and a comma\"\n")) << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
}

TEST_F(ResultsFileTest, AResultsFolderThatCanNotBeMadeIsBadUsage) {
  std::ofstream("results") << "a file in the way";
  EXPECT_THROW(results_file(std::nullopt, "NVIDIA H200"), UsageError);
}

TEST_F(ResultsFileTest, UnwritablePathsAreRefused) {
  EXPECT_THROW(require_writable("missing/out.json"), UsageError);
  EXPECT_THROW(require_writable("."), UsageError);
  EXPECT_THROW(require_writable("/dev/null"), UsageError);
  EXPECT_THROW(OutputFile("my.cu"), UsageError);
  fs::create_symlink("nowhere", "link.json");
  EXPECT_THROW(OutputFile("link.json"), UsageError);
  fs::remove("link.json");
  EXPECT_NO_THROW(require_writable("out.json"));
  EXPECT_EQ(files(), 0U) << "asking leaves nothing behind";
  std::ofstream("out.json") << "old";
  EXPECT_NO_THROW(require_writable("out.json"));
  EXPECT_EQ(read("out.json"), "old");
  if (geteuid() != 0) {  // root may write everywhere
    fs::permissions("out.json", fs::perms::owner_read);
    EXPECT_THROW(require_writable("out.json"), UsageError);
  }
}

TEST_F(ResultsFileTest, FailedWriteKeepsTheOldFileAndNoTemporaryOne) {
  fs::create_directory("target");
  std::ofstream("target/in") << "";
  EXPECT_EQ(usage_message([] { write_atomically("target", "new"); }), "can not write target: Is a directory");
  EXPECT_EQ(files(), 1U);
  EXPECT_TRUE(fs::exists("target/in"));
}

TEST_F(ResultsFileTest, ReadersNeverSeeAPartOfAFile) {
  const std::string a(1 << 20, 'a');
  const std::string b(1 << 19, 'b');
  write_atomically("out", a);
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int i = 0; i < 50; ++i) {
      write_atomically("out", i % 2 == 0 ? b : a);
    }
    done = true;
  });
  int torn = 0;
  while (!done) {
    const std::string seen = read("out");
    torn += seen == a || seen == b ? 0 : 1;
  }
  writer.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(files(), 1U);
  EXPECT_EQ(fs::status("out").permissions(), fs::perms{0644}) << "for everyone to read";
}

TEST_F(ResultsFileTest, IsValidJsonAfterEveryCase) {
  ResultsFile file(OutputFile("out.json"), context_with_device());
  EXPECT_TRUE(nlohmann::json::parse(read("out.json")).at("benchmarks").empty());
  file.add(measured_record());
  const nlohmann::json one = nlohmann::json::parse(read("out.json"));
  EXPECT_EQ(one.at("benchmarks").size(), 1U);
  EXPECT_EQ(one.at("interrupted"), true) << "a run that is killed leaves this behind";
  file.add(stopped_record(Outcome::failed, "\"quoted\" and \\ and \n"));
  file.finish(false);
  const nlohmann::json two = nlohmann::json::parse(read("out.json"));
  EXPECT_EQ(two.at("benchmarks").size(), 2U);
  EXPECT_EQ(two.at("interrupted"), false);
  EXPECT_EQ(files(), 1U);
}

TEST_F(ResultsFileTest, SaysHowItWasCalledAndNotWhereItWasBuilt) {
  const Json context = context_with_device();
  EXPECT_EQ(context.at("executable"), "./runner");
  EXPECT_NE(context.at("build").at("cxx_flags").get<std::string>().find("-Wall"), std::string::npos);
  EXPECT_EQ(context.at("build").dump().find(SGEMM_SOURCE_DIR), std::string::npos);
}

TEST_F(ResultsFileTest, OnlyAColdL2IsFlushed) {
  Protocol protocol;
  for (const auto& [l2, bytes] : {std::pair(L2State::cold, 1U << 28U), std::pair(L2State::warm, 0U)}) {
    protocol.l2 = l2;
    const Json context = describe_environment({}, protocol, {fake_device(), ""}, {"580.1", 1U << 28U, 2.1, 0.03});
    EXPECT_EQ(context.at("protocol").at("flush_bytes"), bytes) << to_string(l2);
  }
}

/// Every kind of record that there is; runner/tests/outside compares these files with the schema.
TEST_F(ResultsFileTest, Samples) {
  for (const auto& [name, context] : {std::pair("results_with_device.json", context_with_device()),
                                      std::pair("results_without_device.json", context_without_device())}) {
    ResultsFile file(OutputFile(sample_path(name)), context);
    for (const auto& [title, record] : sample_records()) {
      file.add(record);
    }
    for (const Outcome outcome :
         {Outcome::incorrect, Outcome::implausible, Outcome::failed, Outcome::not_supported, Outcome::skipped}) {
      file.add(stopped_record(outcome, "because"));
    }
    for (const AccuracyClass accuracy :
         {AccuracyClass::fp32, AccuracyClass::fp32_strassen, AccuracyClass::fp32_split, AccuracyClass::bf16_split,
          AccuracyClass::fp16_split, AccuracyClass::int8_split, AccuracyClass::tf32}) {
      Record record = measured_record();
      record.accuracy = accuracy;
      file.add(record);
    }
    file.finish(false);
    EXPECT_EQ(nlohmann::json::parse(read(sample_path(name))).at("benchmarks").size(), sample_records().size() + 12U);
  }
}

}  // namespace
}  // namespace sgemm
