#include "record/results_file.hpp"

#include "base/usage_error.hpp"
#include "fake_device.hpp"
#include "record/environment.hpp"
#include "record_samples.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace sgemm {
namespace {

namespace fs = std::filesystem;

using ResultsFileTest = TemporaryFolderTest;

nlohmann::ordered_json context_with_device() {
  Protocol protocol;
  protocol.time = TimeMode::end_to_end;
  return describe_environment({"./runner", "--kernel", "caf\xe9"} /* not UTF-8 */, protocol, {fake_device(), ""},
                              {"580.1", std::size_t{1} << 28U, 2.1, 0.03}, "results/nvidia-h200/tuning.json");
}

nlohmann::ordered_json context_without_device() {
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

TEST_F(ResultsFileTest, DefaultPathNeverMeetsAnExistingFile) {
  std::vector<fs::path> seen;
  for (int i = 0; i < 3; ++i) {
    const fs::path path = default_results_path("NVIDIA H200");
    EXPECT_EQ(path.parent_path(), fs::path("results/nvidia-h200"));
    EXPECT_FALSE(fs::exists(path));
    std::ofstream(path) << "mine";
    seen.push_back(path);
  }
  for (const fs::path& path : seen) {
    EXPECT_EQ(read(path), "mine");
  }
}

TEST_F(ResultsFileTest, DefaultPathSaysWhenItsFolderCanNotBeMade) {
  std::ofstream("results") << "a file in the way";
  EXPECT_THROW(default_results_path("NVIDIA H200"), UsageError);
}

TEST_F(ResultsFileTest, UnwritablePathsAreRefused) {
  EXPECT_THROW(require_writable("missing/out.json"), UsageError);
  EXPECT_THROW(require_writable("."), UsageError);
  EXPECT_THROW(require_writable("/dev/null"), UsageError);
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
  EXPECT_THROW(write_atomically("target", "new"), std::system_error);
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
}

TEST_F(ResultsFileTest, IsValidJsonAfterEveryCase) {
  ResultsFile file("out.json", context_with_device());
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
  const nlohmann::ordered_json context = context_with_device();
  EXPECT_EQ(context.at("executable"), "./runner");
  EXPECT_NE(context.at("build").at("cxx_flags").get<std::string>().find("-Wall"), std::string::npos);
  EXPECT_EQ(context.at("build").dump().find(SGEMM_SOURCE_DIR), std::string::npos);
}

TEST_F(ResultsFileTest, OnlyAColdL2IsFlushed) {
  Protocol protocol;
  for (const auto& [l2, bytes] : {std::pair(L2State::cold, 1U << 28U), std::pair(L2State::warm, 0U)}) {
    protocol.l2 = l2;
    const nlohmann::ordered_json context =
        describe_environment({}, protocol, {fake_device(), ""}, {"580.1", 1U << 28U, 2.1, 0.03});
    EXPECT_EQ(context.at("protocol").at("flush_bytes"), bytes) << to_string(l2);
  }
}

TEST_F(ResultsFileTest, IsReadableByEveryone) {
  write_atomically("out", "text");
  constexpr fs::perms READABLE =
      fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read | fs::perms::others_read;
  EXPECT_EQ(fs::status("out").permissions(), READABLE);
}

TEST_F(ResultsFileTest, RepetitionsAreNumbered) {
  ResultsFile file("out.json", context_without_device());
  for (int i = 0; i < 3; ++i) {
    file.add(measured_record());
  }
  file.add(stopped_record(Outcome::skipped, "another case"));
  const nlohmann::json cases = nlohmann::json::parse(read("out.json")).at("benchmarks");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(cases[static_cast<std::size_t>(i)].at("repetition_index"), i);
    EXPECT_EQ(cases[static_cast<std::size_t>(i)].at("repetitions"), 3);
  }
  EXPECT_EQ(cases[3].at("repetitions"), 1);
}

/// Every kind of record that there is; tests/runner compares these files with the schema.
TEST_F(ResultsFileTest, Samples) {
  for (const auto& [name, context] : {std::pair("results_with_device.json", context_with_device()),
                                      std::pair("results_without_device.json", context_without_device())}) {
    ResultsFile file(sample_path(name), context);
    file.add(measured_record());
    const Kernel cpu_blas = fake_cpu_kernel("cpu_blas");
    Record cpu({&cpu_blas, {1, 2, 3, false, true, 4}, {}});
    Timings timings;
    timings.kernel_us = {5000.0};
    cpu.measurement = measurement_of(timings, cpu.size);
    file.add(cpu);
    file.add(executed_record());
    file.add(counted_record());
    file.add(compared_record());
    file.add(profiled_record());
    Record wrong_errors = compared_record();
    wrong_errors.stop(Outcome::incorrect, "because");
    file.add(wrong_errors);
    for (const Outcome outcome :
         {Outcome::incorrect, Outcome::implausible, Outcome::failed, Outcome::not_supported, Outcome::skipped}) {
      file.add(stopped_record(outcome, "because"));
    }
    for (const AccuracyClass accuracy : {AccuracyClass::fp32, AccuracyClass::fp32_split, AccuracyClass::bf16_split,
                                         AccuracyClass::fp16_split, AccuracyClass::int8_split, AccuracyClass::tf32}) {
      Record record = measured_record();
      record.accuracy = accuracy;
      file.add(record);
    }
    file.add(record_with_energy());
    file.add(sustained_record());
    file.add(record_of_two_counted_launches());
    file.finish(false);
    EXPECT_EQ(nlohmann::json::parse(read(sample_path(name))).at("benchmarks").size(), 21U);
  }
}

}  // namespace
}  // namespace sgemm
