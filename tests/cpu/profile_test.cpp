#include "bench/case_process.hpp"
#include "count/counters.hpp"
#include "count/ncu.hpp"
#include "record_samples.hpp"
#include "temporary_folder.hpp"
#include "usage_message.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace sgemm {
namespace {

using Json = nlohmann::ordered_json;

// ---- Figures ----

TEST(Counters, GiveFigures) {
  const ProfiledLaunch launch{"f",
                              {{"gpu__time_duration.sum", 2.0, "ms"},
                               {"dram__bytes_read.sum", 3e6, "byte"},
                               {"dram__bytes_write.sum", 1e6, "byte"},
                               {"lts__t_sectors.sum", 10.0, "sector"},
                               {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", 0.0, ""},
                               {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", 0.0, ""},
                               {"smsp__inst_executed.sum", 100.0, "inst"},
                               {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 800.0, "inst"},
                               {"smsp__sass_inst_executed_op_shared_ld.sum", 4.0, "inst"},
                               {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", 6.0, ""},
                               {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", 0.0, ""},
                               {"sm__sass_inst_executed_op_ldgsts.sum", 0.0, "inst"},
                               {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum", 0.0, ""},
                               {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum", 0.0, ""}}};
  const Json figures = derive(launch, 2e9);
  EXPECT_EQ(figures.at("time_us"), 2000.0);
  EXPECT_EQ(figures.at("tflops"), 1.0);
  EXPECT_EQ(figures.at("dram_bytes"), 4e6);
  EXPECT_EQ(figures.at("dram_gbytes_s"), 2.0);
  EXPECT_EQ(figures.at("flop_per_dram_byte"), 500.0);
  EXPECT_EQ(figures.at("l2_bytes"), 320.0);
  EXPECT_EQ(figures.at("ffma_percent_of_instructions"), 25.0);
  EXPECT_TRUE(figures.at("global_load_sectors_per_request").is_null());
  EXPECT_EQ(figures.at("shared_load_wavefronts_per_request"), 1.5);
  EXPECT_EQ(figures.at("shared_load_bank_conflicts"), 0.0);
  // A kernel without asynchronous copies has no figures about them, rather than zeros.
  EXPECT_TRUE(figures.at("async_copy_percent_of_loads").is_null());
  EXPECT_TRUE(figures.at("async_copy_wavefronts_per_request").is_null());
  EXPECT_TRUE(figures.at("async_copy_bank_conflicts").is_null());
  EXPECT_TRUE(derive({"f", {}}, 2e9).at("time_us").is_null());
}

TEST(Counters, FlopBelongToTheLongestLaunch) {
  const Json json = to_json(two_launches(), 2e9);
  EXPECT_TRUE(json.at("launches").at(0).at("derived").at("tflops").is_null());
  EXPECT_EQ(json.at("launches").at(1).at("derived").at("tflops"), 20.0);
  const Json& stalls = json.at("launches").at(1).at("derived").at("stalls");
  EXPECT_EQ(stalls.dump(), R"({"long_scoreboard":2.25,"selected":1.0,"barrier":0.5})");
  EXPECT_EQ(json.at("launches").at(0).at("counters").at("dram__bytes_read.sum").at("value"), 8e6);
}

TEST(Counters, RowsNameFiguresThatThereAre) {
  const Json figures = derive({"f", {}}, std::nullopt);
  EXPECT_GT(counter_rows().size(), 20U);
  for (const CounterRow& row : counter_rows()) {
    EXPECT_TRUE(figures.contains(row.field)) << row.field;
  }
}

// ---- What ncu prints ----

TEST(NcuOutput, HasARowForEachLaunch) {
  const std::vector<ProfiledLaunch> launches = launches_in(
      "==PROF== Profiling\n"
      "\"ID\",\"Kernel Name\",\"a__b.sum\",\"c__d.pct\",\"not__asked\"\n\"\",\"\",\"ns\",\"%\",\"\"\n"
      "\"0\",\"first\",\"1,234.5\",\"n/a\",\"7\"\n"
      "\"1\",\"op<a, \"\"b\"\">\",\"2\",\"3\",\"7\"\r\n\"2\",\"cut\n",
      {"c__d.pct", "a__b.sum"});
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_EQ(launches[0].function, "first");
  ASSERT_EQ(launches[0].counters.size(), 1U);
  EXPECT_EQ(launches[0].counters[0].metric, "a__b.sum");
  EXPECT_EQ(launches[0].counters[0].unit, "ns");
  EXPECT_DOUBLE_EQ(*launches[0].value("a__b.sum"), 1234.5);
  EXPECT_EQ(launches[1].function, "op<a, \"b\">");
  EXPECT_DOUBLE_EQ(*launches[1].value("c__d.pct"), 3.0);
  EXPECT_TRUE(launches_in("==ERROR== nothing\n", {"a__b.sum"}).empty());
  EXPECT_TRUE(launches_in("\"ID\",\"Kernel Name\"\n\"\",\"\"\n", {"a__b.sum"}).empty());
}

TEST(NcuOutput, NamesRejectedMetrics) {
  const std::vector<std::string> metrics{"a__b.sum", "c__d.avg.pct_of_peak", "launch__e"};
  using Names = std::vector<std::string>;
  EXPECT_EQ(rejected_metrics("==ERROR== Failed to find metric a__b.sum\n", metrics), Names{"a__b.sum"});
  EXPECT_EQ(rejected_metrics("==WARNING== c__d is not there.\n", metrics), Names{"c__d.avg.pct_of_peak"});
  EXPECT_EQ(rejected_metrics("==PROF== Profiling a__b.sum\n", metrics), Names{});
}

// ---- Cases ----

constexpr const char* CSV =
    "==PROF== Connected\n\"ID\",\"Kernel "
    "Name\",\"gpu__time_duration.sum\"\n\"\",\"\",\"ns\"\n\"0\",\"mine\",\"2,000\"\n";

class CaseProfilerTest : public TemporaryFolderTest {
 protected:
  void SetUp() override {
    TemporaryFolderTest::SetUp();
    std::filesystem::copy_file(SGEMM_SOURCE_DIR "/tests/cpu/fake_ncu.sh", "ncu");
    setenv("NCU", (folder_ / "ncu").c_str(), 1);
    Record record({&kernel_, SIZE, {}});
    record.outcome = Outcome::profiled;
    record.verified = true;
    leave_record(record);
    leave("csv", CSV);
  }
  void TearDown() override {
    unsetenv("NCU");
    TemporaryFolderTest::TearDown();
  }

  static void leave(const std::string& name, const std::string& text) { std::ofstream(name) << text; }
  static void leave_record(const Record& record) {
    leave("record", Json{{"record", to_json(record, 1)}, {"note", "noted"}}.dump());
  }
  static CaseProfiler profiler(std::optional<double> seconds = 60.0) {
    return {{"runner", "--kernel", "coarse_2d", "--profile"}, "580.1", seconds, {}};
  }
  static Record run(CaseProfiler& profiler, const Kernel& kernel) {
    return profiler.run({&kernel, SIZE, {}}, [](std::string_view) {});
  }
  Record run_kernel(std::optional<double> seconds = 60.0) const {
    CaseProfiler own = profiler(seconds);
    return run(own, kernel_);
  }
  static std::size_t runs() {
    const std::string text = read("runs");
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  static constexpr Size SIZE{8, 16, 32};
  const Kernel kernel_ = fake_kernel(6, "coarse_2d");
};

TEST_F(CaseProfilerTest, RunsOneCaseUnderNcu) {
  const Record record = run_kernel();
  ASSERT_EQ(record.outcome, Outcome::profiled) << record.reason;
  EXPECT_TRUE(record.verified);
  EXPECT_EQ(record.note, "noted");
  EXPECT_EQ(record.profile->ncu, "2025.3.1.0");
  ASSERT_EQ(record.profile->launches.size(), 1U);
  EXPECT_EQ(record.profile->launches[0].function, "mine");
  EXPECT_DOUBLE_EQ(*record.profile->launches[0].time_us(), 2.0);
  const std::string command = read("runs");
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  EXPECT_TRUE(command.starts_with("sgemm/06_coarse_2d/8x16x32 --clock-control none --profile-from-start off "))
      << command;
  EXPECT_TRUE(command.ends_with(" " + program + " --kernel coarse_2d --profile\n")) << command;
  EXPECT_NE(command.find(metrics().front() + "," + metrics()[1]), std::string::npos) << command;
}

TEST_F(CaseProfilerTest, TakesTheRecordOfACaseThatDidNotComeToItsLaunch) {
  Record record({&kernel_, SIZE, {}});
  record.stop(Outcome::incorrect, "wrong");
  leave_record(record);
  const Record found = run_kernel();
  EXPECT_EQ(found.outcome, Outcome::incorrect);
  EXPECT_EQ(found.reason, "wrong");
  EXPECT_FALSE(found.profile);
}

TEST_F(CaseProfilerTest, GoesOnWithoutMetricsThatNcuDoesNotKnow) {
  leave("unknown", metrics()[3]);
  CaseProfiler same = profiler();
  const Record record = run(same, kernel_);
  ASSERT_EQ(record.outcome, Outcome::profiled) << record.reason;
  EXPECT_EQ(record.profile->dropped_metrics, std::vector{metrics()[3]});
  EXPECT_EQ(runs(), 2U);
  run(same, kernel_);
  EXPECT_EQ(runs(), 3U) << "the metric is not asked for again";
}

TEST_F(CaseProfilerTest, IsRefusedOnceForAll) {
  std::filesystem::remove("record");
  leave("csv", "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access counters\n");
  CaseProfiler same = profiler();
  for (int i = 0; i < 2; ++i) {
    const Record record = run(same, kernel_);
    EXPECT_EQ(record.outcome, Outcome::skipped);
    EXPECT_TRUE(record.reason.starts_with("the driver lets this user read no counters (ERR_NVGPUCTRPERM): run it as "))
        << record.reason;
  }
  EXPECT_EQ(runs(), 1U);
}

TEST_F(CaseProfilerTest, FailsWithWhatNcuSaid) {
  std::filesystem::remove("csv");
  leave("said", "one\ntwo\n\nthree\n==ERROR== The application returned an error code (11).\n");
  const Record record = run_kernel();
  EXPECT_EQ(record.outcome, Outcome::failed);
  EXPECT_EQ(record.reason,
            "ncu gave no counters: two / three / ==ERROR== The application returned an error code (11).");
}

TEST_F(CaseProfilerTest, EndsACaseThatTakesTooLong) {
  leave("sleep", "");
  const Record record = run_kernel(0.2);
  EXPECT_EQ(record.reason, "took longer than 0.2 s under ncu, which --timeout changes");
  EXPECT_EQ(record.outcome, Outcome::failed);
  EXPECT_FALSE(std::filesystem::exists("awake")) << "nobody waited until it ended by itself";
}

TEST_F(CaseProfilerTest, LeavesOutWhatIsNoKernelOfAGpu) {
  CaseProfiler same = profiler();
  EXPECT_EQ(run(same, fake_cpu_kernel("cpu_blas")).outcome, Outcome::not_supported);
  Kernel spread = fake_kernel(14, "many_gpus");
  spread.local_kernel = "12_fp16x3";
  EXPECT_EQ(run(same, spread).reason, "is made of 12_fp16x3, which can be profiled");
  EXPECT_FALSE(std::filesystem::exists("runs"));
}

TEST_F(CaseProfilerTest, SaysThatNcuIsMissing) {
  unsetenv("NCU");
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  const std::string message = usage_message([&] { profiler(); });
  setenv("PATH", path.c_str(), 1);
  if (message != "(no UsageError)") {  // a build for GPUs may know an ncu beside its nvcc
    EXPECT_TRUE(message.starts_with("--profile reads a GPU's counters with Nsight Compute's ncu, and there is none"))
        << message;
  }
}

}  // namespace
}  // namespace sgemm
