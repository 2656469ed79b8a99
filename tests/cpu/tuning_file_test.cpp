#include "bench/tuning_file.hpp"

#include "base/usage_error.hpp"
#include "fake_device.hpp"
#include "problem/operands.hpp"
#include "record/environment.hpp"
#include "record/results_file.hpp"
#include "temporary_folder.hpp"
#include "usage_message.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

namespace sgemm {
namespace {

namespace fs = std::filesystem;

constexpr const char* DEFAULT_PATH = "results/nvidia-h200/tuning.json";

nlohmann::ordered_json context(const std::string& device_name = "NVIDIA H200") {
  Device device = fake_device();
  device.name = device_name;
  return describe_environment({}, {}, {device, ""}, {"580.1", 1U << 28U, 2.1, 0.03});
}

DeviceQuery here() { return {fake_device(), ""}; }

TuningEntry entry(const Size& size, const std::string& configuration, const std::string& kernel = "09_every_shape") {
  return {kernel, size, size.n % 4 == 0 && size.k % 4 == 0, configuration, 12.5, "128x256", 15.0};
}

Problem problem(const Size& size) { return packed({size.m, size.n, size.k}, nullptr, nullptr, nullptr); }

class TuningFileTest : public TemporaryFolderTest {
 protected:
  static void write_default(const std::string& text) {
    fs::create_directories("results/nvidia-h200");
    std::ofstream(DEFAULT_PATH) << text;
  }
  static void write_default() {
    fs::create_directories("results/nvidia-h200");
    add_to_tuning_file(DEFAULT_PATH, context(), entry({256, 256, 256}, "64x64"));
  }
};

TEST(Float4Rows, WantBoundariesOf16BytesAndGroupsOfFour) {
  EXPECT_TRUE(has_float4_rows(problem({3, 4, 8})));
  EXPECT_FALSE(has_float4_rows(problem({4, 5, 8})));
  EXPECT_FALSE(has_float4_rows(problem({4, 4, 7})));
  Problem p = problem({4, 4, 4});
  p.ldc = 6;
  EXPECT_FALSE(has_float4_rows(p));
  p.ldc = 8;
  EXPECT_TRUE(has_float4_rows(p));
  const float matrix[2] = {};
  p.b = reinterpret_cast<const float*>((reinterpret_cast<std::uintptr_t>(matrix) & ~std::uintptr_t{15}) + 4);
  EXPECT_FALSE(has_float4_rows(p));
}

TEST_F(TuningFileTest, WhatIsWrittenIsRead) {
  TuningEntry untimed = entry({4096, 128, 4096}, "64x128 split-k 4");
  untimed.model_time_us.reset();
  add_to_tuning_file("tuning.json", context(), untimed);
  add_to_tuning_file("tuning.json", context(), entry({255, 256, 256}, ""));
  const TuningFile file = read_tuning_file("tuning.json");
  EXPECT_EQ(file.path, "tuning.json");
  EXPECT_EQ(file.device, "NVIDIA H200");
  ASSERT_EQ(file.entries.size(), 2U);
  const TuningEntry& last = file.entries.back();
  EXPECT_EQ(last.kernel, "09_every_shape");
  EXPECT_EQ(last.size, (Size{4096, 128, 4096}));
  EXPECT_TRUE(last.float4_rows);
  EXPECT_EQ(last.configuration, "64x128 split-k 4");
  EXPECT_EQ(last.time_us, 12.5);
  EXPECT_EQ(last.model_choice, "128x256");
  EXPECT_FALSE(last.model_time_us);
  EXPECT_EQ(file.entries.front().configuration, "");
  EXPECT_EQ(file.entries.front().model_time_us, 15.0);
  EXPECT_EQ(files(), 1U) << "something was left behind";
}

/// tests/runner compares the file with the schema.
TEST_F(TuningFileTest, Sample) {
  const fs::path path = sample_path("tuning.json");
  TuningEntry untimed = entry({4096, 128, 4096}, "64x128 split-k 4");
  untimed.model_time_us.reset();
  add_to_tuning_file(path, context(), entry({256, 256, 256}, "64x64"));
  add_to_tuning_file(path, context(), untimed);
  EXPECT_EQ(read_tuning_file(path).entries.size(), 2U);
}

TEST_F(TuningFileTest, SameCaseIsReplacedAndOthersStay) {
  const Size size{256, 256, 256};
  TuningEntry unaligned = entry(size, "unaligned");
  unaligned.float4_rows = false;
  for (const TuningEntry& each : {entry(size, "old"), entry({256, 256, 257}, "other shape"),
                                  entry(size, "other kernel", "10_next"), unaligned, entry(size, "new")}) {
    add_to_tuning_file("tuning.json", context(), each);
  }
  const TuningFile file = read_tuning_file("tuning.json");
  EXPECT_EQ(file.entries.size(), 4U);
  EXPECT_EQ(file.find("09_every_shape", problem(size))->configuration, "new");
  EXPECT_EQ(file.find("09_every_shape", problem({256, 256, 257}))->configuration, "other shape");
  EXPECT_EQ(file.find("10_next", problem(size))->configuration, "other kernel");
  Problem padded = problem(size);
  padded.lda += 1;
  EXPECT_EQ(file.find("09_every_shape", padded)->configuration, "unaligned");
  EXPECT_EQ(file.find("09_every_shape", problem({256, 257, 256})), nullptr);
  EXPECT_EQ(file.find("08_other", problem(size)), nullptr);
}

TEST_F(TuningFileTest, FailedWriteKeepsWhatIsThere) {
  add_to_tuning_file("tuning.json", context(), entry({256, 256, 256}, "old"));
  const std::string before = read("tuning.json");
  EXPECT_THROW(add_to_tuning_file("tuning.json", context("Another GPU"), entry({1, 1, 1}, "x")), UsageError);
  EXPECT_EQ(read("tuning.json"), before);
  EXPECT_THROW(add_to_tuning_file("missing/tuning.json", context(), entry({1, 1, 1}, "x")), std::system_error);
  std::ofstream("broken.json") << "{";
  EXPECT_THROW(add_to_tuning_file("broken.json", context(), entry({1, 1, 1}, "x")), UsageError);
  EXPECT_EQ(read("broken.json"), "{");
}

TEST_F(TuningFileTest, WhatIsNoTuningFileIsRefused) {
  add_to_tuning_file("tuning.json", context(), entry({256, 256, 256}, "64x64"));
  const nlohmann::json good = nlohmann::json::parse(read("tuning.json"));
  const auto changed = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json json = good;
    json[nlohmann::json::json_pointer(pointer)] = value;
    return json.dump();
  };
  const std::vector<std::string> texts{"",
                                       "{",
                                       "[]",
                                       "{}",
                                       changed("/format_version", 2),
                                       changed("/context/device", nullptr),
                                       changed("/entries", 1),
                                       changed("/entries/0", "x"),
                                       changed("/entries/0/m", "256"),
                                       changed("/entries/0/configuration", 1),
                                       changed("/entries/0/model_time_us", "fast")};
  for (const std::string& text : texts) {
    std::ofstream("bad.json") << text;
    const std::string message = usage_message([] { read_tuning_file("bad.json"); });
    EXPECT_NE(message.find("bad.json: "), std::string::npos) << text << " gave: " << message;
  }
  EXPECT_NE(usage_message([] { read_tuning_file("missing.json"); }).find("there is none"), std::string::npos);
  EXPECT_NE(usage_message([] { read_tuning_file("."); }).find("can not be read"), std::string::npos);
  if (geteuid() != 0) {  // root may read everything
    fs::permissions("bad.json", fs::perms::none);
    EXPECT_NE(usage_message([] { read_tuning_file("bad.json"); }).find("can not be read"), std::string::npos);
  }
}

TEST_F(TuningFileTest, DefaultFileIsFollowedWhereThereIsOne) {
  Options options;
  EXPECT_FALSE(tuning_for_run(options, here()));
  write_default();
  const auto tuning = tuning_for_run(options, here());
  ASSERT_TRUE(tuning);
  EXPECT_EQ(tuning->path, DEFAULT_PATH);
  EXPECT_EQ(tuning->entries.size(), 1U);
  EXPECT_FALSE(tuning_for_run(options, {std::nullopt, "no driver"}));
  options.use_tuning = false;
  EXPECT_FALSE(tuning_for_run(options, here()));
}

TEST_F(TuningFileTest, DefaultFileThatIsBrokenIsAnErrorThatSaysHowToDoWithout) {
  write_default("{");
  const std::string message = usage_message([] { tuning_for_run({}, here()); });
  EXPECT_NE(message.find(DEFAULT_PATH), std::string::npos) << message;
  EXPECT_NE(message.find("--no-tuning"), std::string::npos) << message;
  Options without;
  without.use_tuning = false;
  EXPECT_FALSE(tuning_for_run(without, here()));
}

TEST_F(TuningFileTest, NamedFileHasToBeThereAndForTheDevice) {
  Options options;
  options.tuning_file = "mine.json";
  EXPECT_NE(usage_message([&] { tuning_for_run(options, here()); }).find("mine.json: there is none"),
            std::string::npos);
  add_to_tuning_file("mine.json", context("NVIDIA A100"), entry({256, 256, 256}, "64x64"));
  const std::string message = usage_message([&] { tuning_for_run(options, here()); });
  EXPECT_NE(message.find("is for NVIDIA A100, not for NVIDIA H200"), std::string::npos) << message;
  fs::remove("mine.json");
  add_to_tuning_file("mine.json", context(), entry({256, 256, 256}, "64x64"));
  write_default("not looked at");
  EXPECT_EQ(tuning_for_run(options, here())->path, "mine.json");
  const std::string no_device = usage_message([&] { tuning_for_run(options, {std::nullopt, "no driver"}); });
  EXPECT_NE(no_device.find("no driver"), std::string::npos) << no_device;
}

TEST_F(TuningFileTest, PathToWriteIsCheckedBeforehand) {
  Options options;
  EXPECT_EQ(tuning_file_to_write(options, "NVIDIA H200"), DEFAULT_PATH);
  EXPECT_TRUE(fs::is_directory("results/nvidia-h200"));
  EXPECT_FALSE(fs::exists(DEFAULT_PATH));
  write_default();
  EXPECT_EQ(tuning_file_to_write(options, "NVIDIA H200"), DEFAULT_PATH);
  write_default("{");
  EXPECT_THROW(tuning_file_to_write(options, "NVIDIA H200"), UsageError);
  options.tuning_file = "missing/tuning.json";
  EXPECT_THROW(tuning_file_to_write(options, "NVIDIA H200"), UsageError);
  options.tuning_file = "other.json";
  EXPECT_EQ(tuning_file_to_write(options, "NVIDIA H200"), "other.json");
  add_to_tuning_file("other.json", context("NVIDIA A100"), entry({256, 256, 256}, "64x64"));
  EXPECT_THROW(tuning_file_to_write(options, "NVIDIA H200"), UsageError);
}

}  // namespace
}  // namespace sgemm
