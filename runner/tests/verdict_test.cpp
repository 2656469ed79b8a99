#include "verdict/verdict.hpp"

#include "fake_device.hpp"
#include "fixtures/temporary_folder.hpp"
#include "record_samples.hpp"
#include "usage_message.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace sgemm {
namespace {

constexpr Size HIDDEN{1021, 1033, 1027};

Record with(Record record, const Size& size, std::optional<Distribution> data = {}) {
  record.size = size;
  record.data = data;
  return record;
}

Record stopped(Outcome outcome, const std::string& reason, const Size& size, std::optional<Distribution> data = {}) {
  Record record = with(executed_record(), size, data);
  record.stop(outcome, reason);
  return record;
}

FileTrial trial(Purpose purpose, std::vector<Record> records) {
  return {purpose, {"--x"}, 0.5, "", std::move(records)};
}
FileTrial failed_trial(Purpose purpose, const std::string& why) { return {purpose, {"--x"}, 0.5, why, {}}; }

/// A file that is right wherever it was tried, on a machine with a GPU.
Findings right() {
  return {{CUBE},
          "",
          "",
          {trial(Purpose::check, {with(executed_record(), HIDDEN)}),
           trial(Purpose::operands, {with(compared_record(), HIDDEN, Distribution::huge)}),
           trial(Purpose::speed, {measured_record(), with(measured_record(), HIDDEN)})}};
}

TEST(FileVerdict, WhatIsRightAndTimedIsAccepted) {
  const FileVerdict verdict = verdict_of(right());
  EXPECT_EQ(verdict.decision, Decision::accepted);
  EXPECT_EQ(verdict.outcome, "measured");
  EXPECT_EQ(verdict.reason, "");
  ASSERT_TRUE(verdict.ratio);
  EXPECT_DOUBLE_EQ(verdict.ratio->mean, 0.78) << "the smaller of the ratios in turns and alone";
  EXPECT_LT(verdict.ratio->low, verdict.ratio->mean);
  EXPECT_GT(verdict.ratio->high, verdict.ratio->mean);
  EXPECT_EQ(verdict.timed().size(), 1U) << "hidden sizes are not ranked";
  EXPECT_TRUE(verdict.notes.empty());
}

TEST(FileVerdict, OneWrongCaseRefusesWhereverItIs) {
  for (const Outcome outcome : {Outcome::incorrect, Outcome::implausible, Outcome::failed}) {
    for (std::size_t place = 0; place < 3; ++place) {
      Findings findings = right();
      findings.trials[place].records.push_back(stopped(outcome, "because", HIDDEN, Distribution::sparse));
      const FileVerdict verdict = verdict_of(findings);
      EXPECT_EQ(verdict.decision, Decision::refused) << place;
      EXPECT_EQ(verdict.outcome, to_string(outcome));
      EXPECT_EQ(verdict.reason, place == 0 ? "1021x1033x1027, sparse operands, with checks: because"
                                           : "1021x1033x1027, sparse operands: because");
      EXPECT_FALSE(verdict.ratio);
    }
  }
}

TEST(FileVerdict, WhatDoesNotTakeTheSizesIsRefused) {
  Findings findings = right();
  findings.trials[2].records.front() = stopped(Outcome::not_supported, "requires M == 8", CUBE);
  const FileVerdict verdict = verdict_of(findings);
  EXPECT_EQ(verdict.decision, Decision::refused);
  EXPECT_EQ(verdict.outcome, "not_supported");
  EXPECT_EQ(verdict.reason, "1024x1024x1024: requires M == 8");
}

TEST(FileVerdict, WithoutATimeNothingIsAccepted) {
  Findings findings = right();
  findings.trials[2].records.front() = stopped(Outcome::skipped, "not enough device memory", CUBE);
  EXPECT_EQ(verdict_of(findings).decision, Decision::undecided);
  EXPECT_EQ(verdict_of(findings).reason, "1024x1024x1024: not enough device memory");

  findings = right();
  findings.trials.pop_back();
  findings.no_gpu = "no driver";
  const FileVerdict verdict = verdict_of(findings);
  EXPECT_EQ(verdict.decision, Decision::undecided);
  EXPECT_EQ(verdict.outcome, "executed");
  EXPECT_EQ(verdict.reason, "right so far; speed was not judged: no driver");

  findings.trials = {failed_trial(Purpose::check, "my.cu can not be executed on the CPU")};
  EXPECT_EQ(verdict_of(findings).decision, Decision::undecided);
  EXPECT_EQ(verdict_of(findings).outcome, "skipped");
  EXPECT_EQ(verdict_of(findings).reason, "my.cu can not be executed on the CPU");
}

TEST(FileVerdict, WhatSplitOperandsLoseIsToldAndNoFault) {
  for (const Distribution data :
       {Distribution::denormals, Distribution::lognormal4, Distribution::inf, Distribution::nan}) {
    Findings findings = right();
    findings.trials[1].records.push_back(stopped(Outcome::incorrect, "17 of 20", HIDDEN, data));
    findings.trials[1].records.push_back(stopped(Outcome::incorrect, "18 of 20", CUBE, data));
    FileVerdict verdict = verdict_of(findings);
    EXPECT_EQ(verdict.decision, Decision::accepted);
    EXPECT_EQ(verdict.weak_on, std::vector<Distribution>{data});
    ASSERT_EQ(verdict.notes.size(), 1U);
    EXPECT_EQ(verdict.notes.front(),
              fmt::format("does not keep the bound of FP32 with {0} operands; 1021x1033x1027, {0} operands: 17 of 20",
                          to_string(data)));
    findings.trials[1].records.push_back(stopped(Outcome::failed, "crashed", HIDDEN, data));
    EXPECT_EQ(verdict_of(findings).decision, Decision::refused) << "it has to end well";
  }
}

TEST(FileVerdict, DecoysAreTimedAndNotRanked) {
  Findings findings = right();
  findings.trials.push_back(trial(Purpose::decoy, {measured_record()}));
  EXPECT_EQ(verdict_of(findings).timed().size(), 1U);
  EXPECT_TRUE(verdict_of(findings).cases.back().hidden);
  findings.trials.back().records = {stopped(Outcome::incorrect, "x", CUBE)};
  EXPECT_EQ(verdict_of(findings).decision, Decision::refused);
  EXPECT_EQ(verdict_of(findings).reason, "1024x1024x1024, timed with other operands: x");
}

TEST(FileVerdict, OneOfSeveralSizesWithoutATimeIsNotAccepted) {
  Findings findings = right();
  findings.asked.push_back({2048, 2048, 2048});
  EXPECT_EQ(verdict_of(findings).decision, Decision::undecided);
}

TEST(FileVerdict, AFileThatWasTriedAtNoHiddenSizeIsNotAccepted) {
  Findings findings = right();
  findings.no_hidden_size = "no hidden size fits its requirement (M == 1024)";
  const FileVerdict verdict = verdict_of(findings);
  EXPECT_EQ(verdict.decision, Decision::undecided);
  EXPECT_EQ(verdict.reason, findings.no_hidden_size);
  EXPECT_FALSE(verdict.ratio);
}

TEST(FileVerdict, AHiddenCaseThatWasLeftOutDecidesNothing) {
  for (const Outcome outcome : {Outcome::skipped, Outcome::not_supported}) {
    for (const std::size_t trial : {1, 2}) {
      Findings findings = right();
      findings.trials[trial].records.push_back(stopped(outcome, "no room", HIDDEN));
      const FileVerdict verdict = verdict_of(findings);
      EXPECT_EQ(verdict.decision, Decision::undecided);
      EXPECT_EQ(verdict.reason, "1021x1033x1027: no room");
      EXPECT_FALSE(verdict.ratio);
    }
    Findings findings = right();
    findings.trials[0].records.push_back(stopped(outcome, "no room", HIDDEN));
    EXPECT_EQ(verdict_of(findings).decision, Decision::accepted) << "on the CPU";
  }
}

TEST(FileVerdict, WhatDoesNotCompileForTheGpuIsRefusedThere) {
  Findings findings = right();
  findings.trials = {failed_trial(Purpose::operands, "my.cu does not compile for the GPU")};
  EXPECT_EQ(verdict_of(findings).decision, Decision::refused);
  EXPECT_EQ(verdict_of(findings).reason, "my.cu does not compile for the GPU");
}

TEST(FileVerdict, WhatTheExecutorDoesNotKnowIsNoFault) {
  Findings findings = right();
  findings.trials.front() = failed_trial(Purpose::check, "my.cu can not be executed on the CPU");
  const FileVerdict verdict = verdict_of(findings);
  EXPECT_EQ(verdict.decision, Decision::accepted);
  EXPECT_EQ(verdict.notes, std::vector<std::string>{"no trial of check: my.cu can not be executed on the CPU"});
}

TEST(FileVerdict, TellsWhatIsFastAtKnownSizesOnly) {
  Findings findings = right();
  Record& near = findings.trials[2].records.back();
  near.measurement->vs_cublas = 0.47;
  const FileVerdict verdict = verdict_of(findings);
  EXPECT_EQ(verdict.decision, Decision::accepted) << "it is information";
  EXPECT_EQ(verdict.notes, std::vector<std::string>{"fast only at 1024x1024x1024: 0.800 of cuBLAS there, and 0.470 at "
                                                    "1021x1033x1027"});
  near.measurement->vs_cublas = 0.49;
  EXPECT_TRUE(verdict_of(findings).notes.empty());
}

TEST(FileVerdict, SizesAreComparedWithThoseNextToThemAlone) {
  Findings findings = right();
  const Size larger{2048, 2048, 2048};
  findings.asked.push_back(larger);
  Record faster = with(measured_record(), larger);
  faster.measurement->vs_cublas = 8.0;
  findings.trials[2].records.push_back(faster);
  EXPECT_TRUE(verdict_of(findings).notes.empty()) << "1024 and what is next to it are alike";
  Record decoy = measured_record();
  decoy.measurement->vs_cublas = 0.1;
  findings.trials.push_back(trial(Purpose::decoy, {decoy}));
  EXPECT_TRUE(verdict_of(findings).notes.empty()) << "decoys are no sizes";
  findings.trials[2].records.push_back(with(measured_record(), {2049, 2047, 2045}));
  EXPECT_EQ(
      verdict_of(findings).notes,
      std::vector<std::string>{"fast only at 2048x2048x2048: 8.000 of cuBLAS there, and 0.800 at 2049x2047x2045"});
}

TEST(FileVerdict, TheRatioIsTheGeometricMeanOverSizes) {
  Findings findings = right();
  const Size larger{2048, 2048, 2048};
  findings.asked.push_back(larger);
  Record faster = with(measured_record(), larger);
  faster.measurement->vs_cublas = 1.5;
  faster.measurement->vs_cublas_ci = Interval{1.2, 3.0};
  faster.measurement->vs_cublas_alone = 2.0;
  findings.trials[2].records.push_back(faster);
  const FileVerdict verdict = verdict_of(findings);
  ASSERT_TRUE(verdict.ratio);
  EXPECT_DOUBLE_EQ(verdict.ratio->mean, std::sqrt(0.78 * 1.5));
  const Measurement first = *measured_record().measurement;
  const double low = 0.78 * first.vs_cublas_ci->low / *first.vs_cublas;
  EXPECT_DOUBLE_EQ(verdict.ratio->low, std::sqrt(low * 1.2));
}

class JudgedFilesTest : public TemporaryFolderTest {};

TEST_F(JudgedFilesTest, AreThoseOfFolders) {
  const auto path = [&](const std::string& name) { return (folder_ / name).string(); };
  const std::string folder = folder_.string();
  EXPECT_EQ(usage_message([&] { judged_files(folder); }),
            "--judge: there is no .cu file in the folder '" + folder + "'");
  for (const std::string name : {"b.cu", "a.cu", "notes.md", "c.cuh"}) {
    std::ofstream(path(name)) << "x";
  }
  const std::vector<std::string> both{path("a.cu"), path("b.cu")};
  EXPECT_EQ(judged_files(folder), both);
  EXPECT_EQ(judged_files(path("b.cu") + ":f," + folder),
            (std::vector<std::string>{path("b.cu") + ":f", path("a.cu"), path("b.cu")}));
  EXPECT_EQ(judged_files(path("a.cu") + "," + folder), both) << "each once";
  EXPECT_EQ(usage_message([&] { judged_files(path("no.cu")); }),
            "--judge: there is no file or folder '" + path("no.cu") + "'");
  EXPECT_EQ(usage_message([&] { judged_files(""); }), "--judge: there is no file or folder ''");
  std::ofstream(path("x,y.cu")) << "x";
  EXPECT_NE(usage_message([&] { judged_files(folder); }).find("has a comma in its name"), std::string::npos);
}

using VerdictsFileTest = TemporaryFolderTest;

TEST_F(VerdictsFileTest, Sample) {
  Options options = parse_options(3, std::array{"./runner", "--judge", "my.cu"}.data(), "").options;
  std::vector<FileVerdict> verdicts{verdict_of(right()), verdict_of(right()), verdict_of(right())};
  verdicts[0].file = "my.cu";
  verdicts[0].hash = std::string(64, 'a');
  Findings wrong = right();
  wrong.trials.front().records = {stopped(Outcome::failed, "/a/my.cu:3: writes outside of C", HIDDEN)};
  verdicts[1] = verdict_of(wrong);
  Findings untimed = right();
  untimed.trials.pop_back();
  untimed.no_gpu = "no driver";
  verdicts[2] = verdict_of(untimed);
  const auto document =
      verdicts_document(options, {fake_device(), ""}, {CUBE}, Secret::parse(std::string(32, '1')), verdicts);
  std::ofstream(sample_path("verdicts.json")) << document.dump(1);
  ASSERT_EQ(document.at("verdicts").size(), 3U);
  const auto& accepted = document.at("verdicts").at(0);
  EXPECT_TRUE(accepted.at("accepted").get<bool>());
  EXPECT_EQ(accepted.at("speeds").at(0).at("size"), "1024x1024x1024");
  EXPECT_EQ(accepted.at("speeds").at(0).at("gflops_ci").at(0).get<double>(), 2.0 * 1024 * 1024 * 1024 / 101.0 / 1e3);
  EXPECT_FALSE(document.at("verdicts").at(1).at("accepted").get<bool>());
  EXPECT_TRUE(document.at("verdicts").at(1).at("vs_cublas").is_null());
  EXPECT_TRUE(document.at("verdicts").at(1).at("speeds").empty()) << "what is refused has no speed";
}

}  // namespace
}  // namespace sgemm
