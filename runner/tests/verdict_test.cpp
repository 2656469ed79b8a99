#include "verdict/verdict.hpp"

#include "expectations.hpp"
#include "fakes.hpp"
#include "record_samples.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <map>
#include <utility>

namespace sgemm {
namespace {

constexpr Size HIDDEN{1021, 1033, 1027};
constexpr Size LARGER{2048, 2048, 2048};

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

/// A file that is right wherever it was tried, on a machine with a GPU.
Findings right() {
  return {{CUBE},
          "",
          "",
          {trial(Purpose::check, {with(executed_record(), HIDDEN)}),
           trial(Purpose::operands, {with(compared_record(), HIDDEN, Distribution::huge)}),
           trial(Purpose::speed, {measured_record(), with(measured_record(), HIDDEN)})}};
}

/// "accepted (measured), 0.780 (0.770 to 0.790) of cuBLAS over 1 sizes; a note".
std::string described(const FileVerdict& verdict) {
  std::string text = fmt::format("{} ({})", to_string(verdict.decision), verdict.outcome);
  text += verdict.reason.empty() ? "" : ": " + verdict.reason;
  if (verdict.ratio) {
    text += fmt::format(", {:.3f} ({:.3f} to {:.3f}) of cuBLAS over {} sizes", verdict.ratio->mean, verdict.ratio->low,
                        verdict.ratio->high, verdict.timed().size());
  }
  text += verdict.weak_on.empty() ? "" : fmt::format("; weak on {}", to_string(verdict.weak_on.front()));
  for (const std::string& note : verdict.notes) {
    text += fmt::format("; {}", note);
  }
  return text;
}

/// What differs from the findings of a file that is right.
using Change = std::function<void(Findings&)>;

/// The trial of a purpose gets one more case.
Change more(std::size_t trial, const Record& record) {
  return [=](Findings& findings) { findings.trials[trial].records.push_back(record); };
}

/// The case that was to be timed ended so instead.
Change instead(const Record& record) {
  return [=](Findings& findings) { findings.trials[2].records.front() = record; };
}

/// A size that was asked for as well, and its case with these ratios to cuBLAS.
Change larger(double vs_cublas, const std::vector<Record>& others = {}) {
  return [=](Findings& findings) {
    findings.asked.push_back(LARGER);
    std::vector<Record>& records = findings.trials[2].records;
    records.push_back(with(measured_record(), LARGER));
    records.back().measurement->vs_cublas = vs_cublas;
    records.back().measurement->vs_cublas_ci = Interval{0.8 * vs_cublas, 2.0 * vs_cublas};
    records.back().measurement->vs_cublas_alone = 2.0 * vs_cublas;
    records.insert(records.end(), others.begin(), others.end());
  };
}

/// The first trial had no case, or, without a GPU, was the only one.
Change failed(Purpose purpose, const std::string& why, const std::string& no_gpu = "") {
  return [=](Findings& findings) {
    findings.no_gpu = no_gpu;
    findings.trials.resize(purpose == Purpose::check && no_gpu.empty() ? 3 : 1);
    findings.trials.front() = {purpose, {"--x"}, 0.5, why, {}};
  };
}

Change hidden_at(double vs_cublas) {
  return [=](Findings& findings) { findings.trials[2].records.back().measurement->vs_cublas = vs_cublas; };
}

Change decoy(const Record& record, std::size_t count = 1) {
  return
      [=](Findings& findings) { findings.trials.push_back(trial(Purpose::decoy, std::vector<Record>(count, record))); };
}

Record slow() {
  Record record = measured_record();
  record.measurement->vs_cublas = 0.1;
  record.measurement->vs_cublas_ci = Interval{0.09, 0.11};
  return record;
}

std::map<std::string, Change> changes() {
  std::map<std::string, Change> all{
      {"nothing", [](Findings&) {}},
      {"does not take the size", instead(stopped(Outcome::not_supported, "requires M == 8", CUBE))},
      {"has no room for the size", instead(stopped(Outcome::skipped, "not enough device memory", CUBE))},
      {"no GPU",
       [](Findings& findings) {
         findings.trials.pop_back();
         findings.no_gpu = "no driver";
       }},
      {"no GPU, and the executor does not know it", failed(Purpose::check, "can not be executed", "no driver")},
      {"the executor does not know it", failed(Purpose::check, "can not be executed on the CPU")},
      {"does not compile for the GPU", failed(Purpose::operands, "my.cu does not compile for the GPU")},
      {"a second size without a time", [](Findings& findings) { findings.asked.push_back(LARGER); }},
      {"no hidden size", [](Findings& findings) { findings.no_hidden_size = "no hidden size fits (M == 1024)"; }},
      {"a decoy", decoy(measured_record())},
      {"a wrong decoy", decoy(stopped(Outcome::incorrect, "x", CUBE))},
      {"a slow decoy", decoy(slow())},
      {"two slow decoys of a size", decoy(slow(), 2)},
      {"slow at the hidden size", hidden_at(0.47)},
      {"a little slow at the hidden size", hidden_at(0.49)},
      {"a faster size", larger(8.0)},
      {"a faster size, slow next to it", larger(8.0, {with(measured_record(), {2049, 2047, 2045})})},
      {"a second size", larger(1.5)}};
  for (const Outcome outcome :
       {Outcome::incorrect, Outcome::implausible, Outcome::failed, Outcome::skipped, Outcome::not_supported}) {
    for (std::size_t place = 0; place < 3; ++place) {
      all[fmt::format("{} in trial {}", to_string(outcome), place)] =
          more(place, stopped(outcome, "because", HIDDEN, Distribution::sparse));
    }
  }
  for (const Distribution data : DISTRIBUTIONS) {
    all[fmt::format("incorrect with {}", to_string(data))] = [data](Findings& findings) {
      more(1, stopped(Outcome::incorrect, "17 of 20", HIDDEN, data))(findings);
      more(1, stopped(Outcome::incorrect, "18 of 20", CUBE, data))(findings);
    };
  }
  all["crashed with denormals"] = more(1, stopped(Outcome::failed, "crashed", HIDDEN, Distribution::denormals));
  return all;
}

TEST(FileVerdict, IsWhatFollowsFromTheTrials) {
  const std::map<std::string, Change> all = changes();
  std::size_t count = 0;
  expect_answers("verdicts.txt", [&](const std::string& what) {
    ++count;
    Findings findings = right();
    all.at(what)(findings);
    return described(verdict_of(findings));
  });
  EXPECT_EQ(count, all.size());
  Findings with_decoy = right();
  decoy(measured_record())(with_decoy);
  EXPECT_TRUE(verdict_of(with_decoy).cases.back().hidden);
}

using JudgedFilesTest = TemporaryFolderTest;

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
