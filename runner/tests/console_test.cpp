// What the console shows. console.txt has the tables and paragraphs of sample records. With SGEMM_WRITE_PAGE set the
// test writes it anew: the difference shows what a change does.

#include "report/console.hpp"

#include "expectations.hpp"
#include "fakes.hpp"
#include "record_samples.hpp"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <sstream>
#include <tuple>

namespace sgemm {
namespace {

Table table(std::size_t width, const Protocol& protocol = {}, Table::Content content = {}) {
  return {protocol, content, width, std::string("06_coarse_2d:vectorized").size(), to_string(CUBE).size()};
}

Record throttled_for_half_of_the_time() {
  return changed(record_with_energy(), [](Record& record) {
    Trace trace = FakeBoard{}.watch(1.0);
    for (std::size_t i = 0; i < 50; ++i) {
      trace.points[i].sample.throttle_reasons.clear();
    }
    record.trace = to_json(trace);
  });
}

/// Errors in and beyond the bound, promised or not, with Inf and NaN in their places or not.
std::vector<Record> compared_records() {
  std::vector<Record> records{compared_record()};
  for (const std::int64_t differ : {0, 3}) {
    records.push_back(changed(compared_record(), [&](Record& record) {
      record.errors->verdict.non_finite = 300;
      record.errors->verdict.non_finite_wrong = differ;
    }));
  }
  records.push_back(changed(compared_record(), [](Record& record) {
    record.verified = false;
    record.errors->promised = false;
  }));
  records.push_back(
      changed(records.back(), [](Record& record) { record.stop(Outcome::incorrect, "3 of 4096 elements wrong"); }));
  records.push_back(record_of(fake_kernel(1, "naive"), CUBE, Distribution::huge));
  records.back().stop(Outcome::skipped, "too large");
  return records;
}

/// Counted whole and verified, where nobody could count operations.
Record counted_without_flops() {
  Counts counts = counts_of_launch();
  Requests& requests = counts.launches.front().requests;
  requests.blocks_executed = 4;
  requests.flops.reset();
  requests.reads_per_element = {9.5, 9.996, 99.96};
  return changed(counted_record(counts), [](Record& record) {
    record.verified = true;
    record.rel_err = 3.2e-7;
  });
}

/// cuBLAS in turns with itself.
Record cublas_at(double ratio) {
  return changed(measured_record(), [&](Record& record) {
    record.telemetry = nullptr;
    record.kernel = "cublas";
    record.measurement->vs_cublas = ratio;
  });
}

/// Of another size. Sizes with several kernels are set apart.
Record with_rows(std::int64_t m) {
  return changed(stopped_record(Outcome::skipped, "x"), [m](Record& record) { record.size.m = m; });
}

/// All that console.txt has.
std::string page() {
  std::string text;
  const auto show = [&](const std::string& title, const Table& of, const std::vector<Record>& records) {
    text += "## " + title + "\n\n" + of.heading() + '\n';
    for (const Record& record : records) {
      text += of.row(record) + '\n';
    }
    text += '\n';
  };
  const std::vector<Record> cases{
      measured_record(), of_three_samples(), throttled_for_half_of_the_time(), executed_record(),
      stopped_record(Outcome::not_supported, "needs compute capability 9.0, this device has 8.0")};
  for (const std::size_t width : {0U, 80U}) {
    show(fmt::format("Cases in {} columns", width), table(width), cases);
  }
  for (const std::size_t width : {140U, 120U, 100U, 60U}) {
    show(fmt::format("A case in {} columns", width), table(width), {cases.front()});
  }
  for (const std::size_t width : {100U, 60U, 50U}) {
    show(fmt::format("A long reason in {} columns", width), table(width),
         {stopped_record(Outcome::not_supported,
                         "needs compute capability 9.0, and this device has 8.0: nothing was computed")});
  }
  Protocol protocol;
  show("Cases without times", table(80, protocol, {false, false}), {executed_record()});
  show("Cases without a GPU", table(80, protocol, {true, false}), {measured_record()});
  protocol.check = true;
  show("Checked cases", table(80, protocol, {false, false}),
       {executed_record(), changed(executed_record(), [](Record& record) { record.verified = false; })});
  protocol = {};
  protocol.verify = false;
  show("Cases that were not verified", table(0, protocol, {false, false}), {executed_record()});
  protocol = {};
  protocol.energy = true;
  show("Energy", table(0, protocol), {record_with_energy()});
  protocol = {};
  protocol.mode = Mode::sustain;
  show("Sustained speed", table(0, protocol),
       {sustained_record(), stopped_record(Outcome::not_supported, "on the CPU")});
  protocol.mode = Mode::accuracy;
  for (const std::size_t width : {0U, 40U}) {
    show(fmt::format("Errors in {} columns", width), table(width, protocol), compared_records());
  }
  show("An error in 100 columns", table(100, protocol), {compared_record()});
  show("Errors without a GPU", table(0, protocol, {false, false}), {compared_record()});
  for (const auto& [title, record, width] :
       {std::tuple{"Counts", counted_record(), 0U},
        {"Counts without operations", counted_without_flops(), 0U},
        {"Counts in 60 columns", counted_record(), 60U},
        {"Counts of two launches in 60 columns", record_of_two_counted_launches(), 60U}}) {
    text += fmt::format("## {}\n\n{}\n\n", title, fmt::join(count_report(record, width), "\n"));
  }
  std::ostringstream out;
  Console console(out, nullptr, 0, table(0));
  for (const Record& record :
       {measured_record(), measured_record(), cublas_at(0.999), cublas_at(1.002), of_three_samples(),
        stopped_record(Outcome::not_supported, "x"), stopped_record(Outcome::incorrect, "x"), with_rows(2),
        with_rows(3), with_rows(4), with_rows(4), with_rows(5)}) {
    console.row(record);
  }
  console.summary("results/x.json");
  return text + "## A run and its summary\n\n" + out.str();
}

/// The lines above the table of a run, without what this machine says of itself.
std::string heading_of(Mode mode, const DeviceQuery& device, const std::function<void(Protocol&)>& change = {}) {
  Options options;
  options.protocol.mode = mode;
  options.protocol.sustain_s = 20.0;
  options.protocol.l2 = mode == Mode::sustain ? L2State::warm : L2State::cold;
  if (change) {
    change(options.protocol);
  }
  const auto lines = heading(options, device, {"580.1", 0, 0.0, 0.0}, !device.device, "results/x.json");
  const std::string text =
      std::regex_replace(fmt::to_string(fmt::join(lines, "\n")), std::regex("CPU: .*|by \\d+ threads"), "...");
  return std::regex_replace(text, std::regex("cuBLAS [\\d.]* \\(FP32"), "cuBLAS (FP32") + "\n\n";
}

std::string headings() {
  const DeviceQuery gpu{fake_device(), ""};
  const DeviceQuery none{std::nullopt, "no driver"};
  std::string text = "## Headings with a GPU, and without one\n\n";
  for (const Mode mode : {Mode::measure, Mode::sustain, Mode::accuracy, Mode::profile}) {
    text += heading_of(mode, gpu);
  }
  text += heading_of(Mode::measure, gpu, [](Protocol& protocol) { protocol.verify = false; });
  text += heading_of(Mode::measure, gpu, [](Protocol& protocol) { protocol.energy = true; });
  for (const Mode mode : {Mode::measure, Mode::accuracy, Mode::count}) {
    text += heading_of(mode, none);
  }
  return text + heading_of(Mode::measure, none, [](Protocol& protocol) { protocol.check = true; });
}

TEST(Console, ShowsWhatItShowed) { expect_page("console.txt", headings() + page()); }

TEST(Text, OfStrangersCommandsNoTerminal) {
  EXPECT_EQ(printable("a\x1b[2K\rb\x7f\n\tc"), "a?[2K?b?\n\tc");
  EXPECT_EQ(wrap("a \x1b[8m b", 0), "a ?[8m b");
  EXPECT_EQ(with_reason("row", "  ", "fails\r", 0), "row  fails?");
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

TEST(Console, ProgressIsShownWhereItSaysSomethingNewAndErasedBeforeARow) {
  std::ostringstream out;
  std::ostringstream progress;
  Console console(out, &progress, 60, table(60));
  for (const char* const text : {"a: preparing", "a: sample 1", "a: sample 2"}) {
    console.progress(text);
  }
  console.progress(std::string(200, 'x'));
  console.row(measured_record());
  EXPECT_EQ(progress.str(), "\r\033[Ka: preparing\r\033[Ka: sample 1\r\033[K" + std::string(56, 'x') + "...\r\033[K");
  EXPECT_EQ(out.str().find('\033'), std::string::npos);
}

std::string listing(const std::vector<Kernel>& kernels, ListFormat mode, std::size_t width = 0) {
  std::ostringstream out;
  print_list(out, kernels, mode, width);
  return out.str();
}

TEST(List, IsWhatItWas) {
  std::vector<Kernel> wrapped{fake_kernel(7, "hilbert")};
  wrapped[0].summary = "block tiles in the order of a Hilbert curve, four stages of asynchronous copies";
  std::vector<Kernel> narrow{fake_kernel(1, "naive")};
  narrow[0].summary = "one two three four five an_exceptionally_long_word_that_does_not_fit six";
  std::vector<Kernel> wordy = fake_kernels();
  for (Kernel& kernel : wordy) {
    kernel.summary = "many short words that fill one line or two or even three of a common terminal and then some more";
  }
  Kernel last = fake_kernel(12, "fp16x3");
  last.accuracy = AccuracyClass::fp16_split;
  last.min_compute_capability = 90;
  last.max_compute_capability = 103;
  // With a variant, without a default one, and without a number.
  const std::vector<Kernel> in_json{fake_kernel(0, "cublas"),
                                    fake_cpu_kernel("cpu_blas"),
                                    fake_kernel(1, "naive"),
                                    fake_kernel(1, "naive", "uncoalesced"),
                                    fake_kernel(10, "split_k", "atomic"),
                                    last};
  expect_page("list.txt", "## All\n\n" + listing(fake_kernels(), ListFormat::table) + "\n## In 60 columns\n\n" +
                              listing(wrapped, ListFormat::table, 60) + "\n## Many words in 80 columns\n\n" +
                              listing(wordy, ListFormat::table, 80) + "\n## In a terminal that is too narrow\n\n" +
                              listing(narrow, ListFormat::table, 30) + "\n## None\n\n" +
                              listing({}, ListFormat::table) + listing({}, ListFormat::json) + "\n## In JSON\n\n" +
                              listing(in_json, ListFormat::json));
  for (const std::size_t width : {1U, 10U}) {
    EXPECT_EQ(listing(narrow, ListFormat::table, width), listing(narrow, ListFormat::table, 30));
  }
}

}  // namespace
}  // namespace sgemm
