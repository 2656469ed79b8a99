#include "report/console.hpp"

#include "report/numbers.hpp"

#include "fake_telemetry.hpp"
#include "record_samples.hpp"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace sgemm {
namespace {

/// The columns of a text with no multi-byte character but the plus-minus sign.
std::size_t columns_of(const std::string& line) {
  return line.size() - (line.find("\u00b1") == std::string::npos ? 0 : 1);
}

/// Its words, with single spaces between them.
std::string words_of(const std::string& line) {
  std::istringstream in(line);
  std::string words;
  for (std::string word; in >> word;) {
    words += (words.empty() ? "" : " ") + word;
  }
  return words;
}

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  }
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

Table table(std::size_t width, const Protocol& protocol = {}, Table::Content content = {}) {
  return {protocol, content, width, std::string("06_coarse_2d:vectorized").size(), to_string(CUBE).size()};
}

TEST(Table, ShowsAllColumnsWhereThereIsRoom) {
  const std::string heading = table(0).heading();
  expect_parts(heading, {"kernel", "size", "time", "\u00b1%", "GFLOP/s", "  cuBLAS  ", "% peak", "vs cuBLAS",
                         "vs alone", "rel err", "regs", "smem B", "spill B", "blk/SM"});
  const std::string row = table(0).row(measured_record());
  expect_parts(row, {"06_coarse_2d:vectorized", "1024x1024x1024", "100.00 us", "21474.8", "26843.5", "32.1", "0.800",
                     "0.780", "3.2e-07", "128", "16384", "throttled"});
}

TEST(Table, LeavesOutResourcesFirstAndSpeedNever) {
  const std::string at100 = table(100).heading();
  EXPECT_LE(columns_of(at100), 100U);
  EXPECT_EQ(at100.find("regs"), std::string::npos);
  expect_parts(at100, {"  cuBLAS  ", "vs cuBLAS"});
  const std::string at60 = table(60).heading();
  EXPECT_LE(columns_of(at60), 63U) << "the essential columns, however narrow the terminal";
  expect_parts(at60, {"GFLOP/s"});
  EXPECT_EQ(at60.find("vs"), std::string::npos);
}

TEST(Table, RowsLineUpWithTheHeading) {
  Record record = measured_record();
  record.telemetry = nullptr;
  for (const std::size_t width : {0U, 80U, 100U, 120U, 140U}) {
    EXPECT_EQ(columns_of(table(width).heading()), columns_of(table(width).row(record))) << width;
  }
}

TEST(Table, CaseWithoutMeasurementSaysWhy) {
  const Record record = stopped_record(Outcome::not_supported, "needs compute capability 9.0, this device has 8.0");
  const std::string whole = table(0).row(record);
  expect_parts(whole, {"not supported: needs compute capability 9.0, this device has 8.0"});
}

TEST(Table, ReasonThatDoesNotFitIsWrapped) {
  const std::string reason = "needs compute capability 9.0, and this device has 8.0: nothing was computed";
  for (const std::size_t width : {50U, 60U, 80U, 100U}) {
    const std::string row = table(width).row(stopped_record(Outcome::not_supported, reason));
    EXPECT_EQ(first_line(row).find("01_naive                 1024x1024x1024  not supported:"), 0U) << row;
    std::istringstream lines(row);
    std::string words;
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      EXPECT_LE(line.size(), std::max<std::size_t>(width, 55U)) << "the essential cells, however narrow the terminal";
      EXPECT_TRUE(count == 0 || (line.starts_with("  ") && line[2] != ' ')) << row;
      words += count == 0 ? line : line.substr(1);
    }
    EXPECT_GT(count, 1U);
    EXPECT_TRUE(words.ends_with("not supported: " + reason)) << words;
  }
}

TEST(Table, ExecutedCaseHasAnErrorAndNoSpeed) {
  const std::string row = table(0).row(executed_record());
  expect_parts(row, {"executed", "3.2e-07"});
  EXPECT_EQ(row.size(), columns_of(table(0).heading()));
}

TEST(Table, HasNoColumnsForWhatNoCaseHas) {
  Protocol protocol;
  EXPECT_EQ(words_of(table(80, protocol, {false, false}).heading()), "kernel size result rel err");
  EXPECT_EQ(words_of(table(80, protocol, {true, false}).heading()), "kernel size time \u00b1% GFLOP/s rel err");
  protocol.verify = false;
  EXPECT_EQ(words_of(table(0, protocol, {false, false}).heading()), "kernel size result");
  protocol.mode = Mode::accuracy;
  EXPECT_EQ(table(0, protocol, {false, false}).heading().find("vs cuBLAS"), std::string::npos);
}

TEST(Table, CheckedCaseSaysWhatWasLookedFor) {
  Protocol protocol;
  protocol.check = true;
  const Table checked = table(80, protocol, {false, false});
  Record record = executed_record();
  expect_parts(checked.row(record), {" correct; no stray access, no race  3.2e-07"});
  EXPECT_LE(checked.row(record).size(), 85U);
  record.verified = false;
  EXPECT_EQ(checked.row(record).find("correct"), std::string::npos);
}

TEST(Table, EnergyHasColumnsOfItsOwn) {
  Protocol protocol;
  protocol.energy = true;
  const Table with = table(0, protocol);
  const std::string row = with.row(record_with_energy());
  expect_parts(row, {"100.00 us", "1500", " 700", "0.07", "400", "0.032"});
  EXPECT_EQ(row.find("throttled"), std::string::npos) << "the samples were not";
  EXPECT_EQ(columns_of(with.heading()), columns_of(row));
  EXPECT_EQ(table(0).heading().find("GFLOP/J"), std::string::npos);
}

TEST(Table, SustainedSpeedHasColumnsOfItsOwn) {
  Protocol protocol;
  protocol.mode = Mode::sustain;
  const Table turns = table(0, protocol);
  const std::string row = turns.row(sustained_record());
  expect_parts(row, {"21474.8", "0.800", " 60 ", " 700", "throttled 100 % of the time (sw_power_cap)"});
  EXPECT_EQ(turns.heading().find("rel err"), std::string::npos);
  expect_parts(turns.row(stopped_record(Outcome::not_supported, "on the CPU")), {"on the CPU"});
}

TEST(Table, ThrottlingHasItsShareOfTheSamples) {
  Record record = record_with_energy();
  Trace trace = FakeBoard{}.watch(1.0);
  for (std::size_t i = 0; i < 50; ++i) {
    trace.points[i].sample.throttle_reasons.clear();
  }
  record.trace = to_json(trace);
  expect_parts(table(0).row(record), {"throttled 50 % of the time (sw_power_cap)"});
}

TEST(Table, FewSamplesHaveNoInterval) {
  Record record = measured_record();
  Timings timings;
  timings.kernel_us = {100.0, 101.0, 99.0};
  timings.rival_us = {100.0, 100.0, 100.0};
  record.measurement = measurement_of(timings, CUBE);
  expect_parts(table(0).row(record), {"  n=3  "});
  EXPECT_EQ(table(0).row(measured_record()).find("n="), std::string::npos);
}

Table errors(std::size_t width) {
  Protocol protocol;
  protocol.mode = Mode::accuracy;
  return table(width, protocol);
}

TEST(Table, ErrorsTakeTheColumnsOfTimes) {
  const std::string heading = errors(0).heading();
  const std::string row = errors(0).row(compared_record());
  EXPECT_EQ(row.size(), heading.size());
  EXPECT_EQ(heading.find("GFLOP/s"), std::string::npos);
  expect_parts(row, {"cancelling", "5.9e-04", "1.25", "1.5e-07", "0.036", "3.48e+04", "within bound"});
  EXPECT_LE(errors(100).heading().size(), 100U);
}

TEST(Table, ErrorsSayWhetherInfAndNanAreInTheirPlaces) {
  Record record = compared_record();
  record.errors->verdict.non_finite = 300;
  expect_parts(errors(0).row(record), {"  match  "});
  record.errors->verdict.non_finite_wrong = 3;
  expect_parts(errors(0).row(record), {"3 differ"});
}

TEST(Table, ErrorsBeyondTheBoundSayWhoPromisedWhat) {
  Record record = compared_record();
  record.verified = false;
  record.errors->promised = false;
  expect_parts(errors(0).row(record), {"not promised"});
  record.stop(Outcome::incorrect, "3 of 4096 elements wrong");
  expect_parts(errors(0).row(record), {"incorrect  3 of 4096 elements wrong"});
  EXPECT_TRUE(errors(40).row(record).ends_with("incorrect\n  3 of 4096 elements wrong")) << errors(40).row(record);
  const Kernel kernel = fake_kernel(1, "naive");
  Record skipped({&kernel, CUBE, Distribution::huge});
  skipped.stop(Outcome::skipped, "too large");
  expect_parts(errors(0).row(skipped), {"      huge  skipped: too large"});
}

TEST(Text, CutsAndWraps) {
  EXPECT_EQ(cut("abcdef", 0), "abcdef");
  EXPECT_EQ(cut("abcdef", 6), "abcdef");
  EXPECT_EQ(cut("abcdefg", 6), "abc...");
  EXPECT_EQ(cut("ab\u00b1cdef", 6), "ab...") << "never half a character";
  EXPECT_EQ(cut("abcdef", 2), "..");
  EXPECT_EQ(wrap("one two three", 0), "one two three");
  EXPECT_EQ(wrap("one two three", 8), "one two\n  three");
  EXPECT_EQ(wrap("overlong", 3), "overlong");
  EXPECT_EQ("cell" + wrap("one two", 8, 4), "cell one\n  two");
  EXPECT_EQ("cell" + wrap("one two", 7, 4), "cell\n  one\n  two");
}

TEST(Text, TerminalWidthIsThatOfTheEnvironment) {
  setenv("COLUMNS", "72", 1);
  EXPECT_EQ(terminal_width(), 72U);
  setenv("COLUMNS", "wide", 1);
  EXPECT_NO_THROW(terminal_width());
  unsetenv("COLUMNS");
}

TEST(Console, ProgressIsErasedBeforeARow) {
  std::ostringstream out;
  std::ostringstream progress;
  Console console(out, &progress, 60, table(60));
  console.progress(std::string(200, 'x'));
  EXPECT_EQ(progress.str(), "\r\033[K" + std::string(56, 'x') + "...");
  console.row(measured_record());
  EXPECT_EQ(progress.str().substr(progress.str().size() - 4), "\r\033[K");
  EXPECT_EQ(out.str().find('\033'), std::string::npos);
}

TEST(Console, NoProgressLineWithoutATerminal) {
  std::ostringstream out;
  Console console(out, nullptr, 0, table(0));
  console.progress("working");
  console.row(measured_record());
  EXPECT_EQ(first_line(out.str()), table(0).row(measured_record()));
}

TEST(Console, SizesWithSeveralKernelsAreSetApart) {
  std::ostringstream out;
  Console console(out, nullptr, 0, table(0));
  Record record = stopped_record(Outcome::skipped, "x");
  for (const std::int64_t m : {1, 1, 2, 3}) {
    record.size.m = m;
    console.row(record);
  }
  std::string starts;
  std::istringstream in(out.str());
  for (std::string line; std::getline(in, line);) {
    starts += line.empty() ? '-' : 'x';
  }
  EXPECT_EQ(starts, "xx-xx");
}

TEST(Console, OperandsOfASizeAreSetApartAsWell) {
  std::ostringstream out;
  Console console(out, nullptr, 0, errors(0));
  Record record = compared_record();
  for (const Distribution data : {Distribution::normal, Distribution::normal, Distribution::huge}) {
    record.data = data;
    console.row(record);
  }
  expect_parts(out.str(), {"\n\n"});
}

std::string report_of(const Record& record) { return fmt::to_string(fmt::join(count_report(record, 0), "\n")) + '\n'; }

TEST(Console, CountedCaseIsAParagraphThatFits) {
  for (const std::size_t width : {80U, 60U}) {
    std::size_t sampled = 0;
    for (const std::string& line : count_report(counted_record(), width)) {
      EXPECT_LE(line.size(), width) << line;
      sampled += line.find("2 of 4 executed") != std::string::npos ? 1 : 0;
    }
    EXPECT_EQ(sampled, 1U);
  }
  expect_parts(
      report_of(counted_record()),
      {"06_coarse_2d 1024x1024x1024\n", "A 8, B 16, C 0", "2.15 G, 2048 per element of C", "64 arrivals of warps",
       "DRAM, in step      48.0 kB read, 12.8 kB written, 35320.5 FLOP/B, 50.0 % L2 hits",
       "DRAM, in turn      72.0 kB read, 12.8 kB written, 25324.1 FLOP/B, 25.0 % L2 hits",
       "   all  global load              1000     2.50", "   all  shared load              2000",
       "  06_coarse_2d.cu\n    56  FLOPs", "    93  global load   A"});
  Counts counts = counts_of_launch();
  Requests& requests = counts.launches.front().requests;
  requests.blocks_executed = 4;
  requests.flops.reset();
  requests.reads_per_element = {9.5, 9.996, 99.96};
  Record whole = counted_record(counts);
  whole.verified = true;
  whole.rel_err = 3.2e-7;
  expect_parts(report_of(whole), {"all 4 executed; verified, relative error 3.2e-07",
                                  "not known: objdump (binutils) is missing", "A 9.50, B 10.0, C 100"});
}

TEST(Console, LaunchesFollowTheirSum) {
  std::string report;
  for (const std::string& line : count_report(record_of_two_counted_launches(), 80)) {
    EXPECT_LE(line.size(), 80U) << line;
    report += line + '\n';
  }
  std::size_t at = 0;
  for (const char* const part :
       {"  launches           2: first their sum, then each\n", "4 of 6 executed", "A 9, B 17, C 0",
        "  workspace          0 B asked to read, 64.0 kB to write\n",
        "   all  global load                 1000     2.50", "   all  global store                 500     4.00",
        "\nlaunch 0 split_kernel<true>\n", "all 2 executed", "128 threads", "A 1, B 1, C 0",
        "  split.cuh\n     7  global store  workspace", "\nlaunch 1 product_kernel\n", "2 of 4 executed",
        "264 on the GPU", "A 8, B 16, C 0", "  06_coarse_2d.cu\n    56  FLOPs"}) {
    const std::size_t found = report.find(part, at);
    EXPECT_NE(found, std::string::npos) << part << " is not behind " << at << " in\n" << report;
    at = std::min(found, report.size());
  }
}

TEST(Numbers, HaveThreeDigits) {
  EXPECT_EQ(three_digits(0.0), "0");
  EXPECT_EQ(three_digits(0.012345), "0.0123");
  EXPECT_EQ(three_digits(9.996), "10.0");
  EXPECT_EQ(three_digits(12345.6), "12346");
}

TEST(Console, SummaryCountsOutcomes) {
  std::ostringstream out;
  Console console(out, nullptr, 0, table(0));
  console.row(measured_record());
  console.row(measured_record());
  console.row(stopped_record(Outcome::not_supported, "x"));
  console.row(stopped_record(Outcome::incorrect, "x"));
  out.str("");
  console.summary("results/x.json");
  EXPECT_EQ(out.str(), "\n2 measured, 1 incorrect, 1 not supported, 2 throttled. Results: results/x.json\n");
}

TEST(Console, SummaryTellsTheNoiseOfTheRun) {
  std::ostringstream out;
  Console console(out, nullptr, 0, table(0));
  Record cublas = measured_record();
  cublas.telemetry = nullptr;
  cublas.kernel = "cublas";
  for (const double ratio : {0.999, 1.002}) {
    cublas.measurement->vs_cublas = ratio;
    console.row(cublas);
  }
  Record few = measured_record();
  Timings timings;
  timings.kernel_us = {100.0, 101.0, 99.0};
  few.measurement = measurement_of(timings, CUBE);
  console.row(few);
  console.summary("x.json");
  expect_parts(out.str(), {"n=: 1 of the cases has too few samples for a 95 % interval of the median\n",
                           "cuBLAS in turns with itself is at 0.999 to 1.002 of its own speed\n"});
}

}  // namespace
}  // namespace sgemm
