// What the console shows. console.txt has the tables and paragraphs of sample records. With SGEMM_WRITE_PAGE set the
// test writes it anew: the difference shows what a change does.

#include "report/console.hpp"

#include "expectations.hpp"
#include "fakes.hpp"
#include "record_samples.hpp"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <tuple>

namespace sgemm {
namespace {

/// The columns of a text with no multi-byte character but the plus-minus sign.
std::size_t columns_of(const std::string& line) {
  return line.size() - (line.find("\u00b1") == std::string::npos ? 0 : 1);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

Table table(std::size_t width, const Protocol& protocol = {}, Table::Content content = {}) {
  return {protocol, content, width, std::string("06_coarse_2d:vectorized").size(), to_string(CUBE).size()};
}

/// A record that differs from another one.
Record changed(Record record, const std::function<void(Record&)>& change) {
  change(record);
  return record;
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
  const Kernel kernel = fake_kernel(1, "naive");
  records.emplace_back(Case{&kernel, CUBE, Distribution::huge});
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
        {"Counts of two launches in 60 columns", record_of_two_counted_launches(), 60U}}) {
    text += fmt::format("## {}\n\n{}\n\n", title, fmt::join(count_report(record, width), "\n"));
  }
  std::ostringstream out;
  Console console(out, nullptr, 0, table(0));
  for (const Record& record :
       {measured_record(), measured_record(), cublas_at(0.999), cublas_at(1.002), of_three_samples(),
        stopped_record(Outcome::not_supported, "x"), stopped_record(Outcome::incorrect, "x")}) {
    console.row(record);
  }
  console.summary("results/x.json");
  return text + "## A run and its summary\n\n" + out.str();
}

TEST(Console, ShowsWhatItShowed) { expect_page("console.txt", page()); }

TEST(Table, FitsTheTerminal) {
  Protocol accuracy;
  accuracy.mode = Mode::accuracy;
  for (const std::size_t width : {100U, 120U, 140U}) {
    EXPECT_LE(columns_of(table(width).heading()), width);
    EXPECT_LE(columns_of(table(width, accuracy).heading()), width);
  }
  EXPECT_LE(columns_of(table(60).heading()), 63U) << "the essential columns, however narrow the terminal";
  for (const std::size_t width : {80U, 60U}) {
    for (const Record& record : {counted_record(), record_of_two_counted_launches()}) {
      std::istringstream lines(fmt::to_string(fmt::join(count_report(record, width), "\n")));
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(line.size(), width) << line;
      }
    }
  }
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

TEST(Console, ProgressThatGoesOnIsNotShownEachTime) {
  std::ostringstream out;
  std::ostringstream progress;
  Console console(out, &progress, 60, table(60));
  for (const char* const text : {"a: preparing", "a: sample 1", "a: sample 2", "a: verifying"}) {
    console.progress(text);
  }
  EXPECT_EQ(progress.str(), "\r\033[Ka: preparing\r\033[Ka: sample 1\r\033[Ka: verifying");
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

/// The lines above a run's table on a machine without a GPU.
std::vector<std::string> lines_of(const Options& options, bool executing) {
  return heading(options, {std::nullopt, "no driver"}, {}, executing, "results/x.json");
}

auto lines_with(const std::vector<std::string>& lines, std::string_view part) {
  return std::ranges::count_if(lines, [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

TEST(Heading, SaysOnceWhatIsNotVerifiedAndHowKernelsAreExecuted) {
  Options usual;
  Options unverified;
  unverified.protocol.verify = false;
  Options checked;
  checked.protocol.check = true;
  Options counting;
  counting.protocol.mode = Mode::count;
  EXPECT_EQ(lines_with(lines_of(usual, false), "NOT VERIFIED"), 0);
  EXPECT_EQ(lines_with(lines_of(unverified, false), "NOT VERIFIED"), 1);
  EXPECT_EQ(lines_with(lines_of(usual, false), "executed on the CPU"), 0);
  EXPECT_EQ(lines_with(lines_of(usual, true), "memory unchecked"), 1);
  EXPECT_EQ(lines_with(lines_of(checked, true), "every access to memory checked"), 1);
  EXPECT_EQ(lines_with(lines_of(counting, true), "executed on the CPU"), 1);
}

TEST(Heading, NamesTheDeviceAndTheFile) {
  Options options;
  std::vector<std::string> lines = heading(options, {fake_device(), ""}, {"580.1", 0, 0.0, 0.0}, false, "x.json");
  EXPECT_EQ(lines.front(),
            "NVIDIA H200: compute capability 9.0, 132 SMs, 60 MiB L2, 141 GiB, up to 1980 MHz, driver 580.1");
  EXPECT_EQ(lines.back(), "Results: x.json");
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
                              listing(wrapped, ListFormat::table, 60) + "\n## In a terminal that is too narrow\n\n" +
                              listing(narrow, ListFormat::table, 30) + "\n## None\n\n" +
                              listing({}, ListFormat::table) + listing({}, ListFormat::json) + "\n## In JSON\n\n" +
                              listing(in_json, ListFormat::json));
  for (const std::size_t width : {1U, 10U}) {
    EXPECT_EQ(listing(narrow, ListFormat::table, width), listing(narrow, ListFormat::table, 30));
  }
}

TEST(List, TableKeepsToTheWidth) {
  std::vector<Kernel> kernels = fake_kernels();
  for (Kernel& kernel : kernels) {
    kernel.summary = "many short words that fill one line or two or even three of a common terminal and then some more";
  }
  for (const std::size_t width : {60U, 80U, 100U, 120U}) {
    std::istringstream lines(listing(kernels, ListFormat::table, width));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), width) << line;
      EXPECT_FALSE(line.ends_with(' ')) << line;
    }
  }
  const std::string unlimited = listing(kernels, ListFormat::table);
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(unlimited, '\n')), kernels.size() + 2)
      << "a line for each, the heading, and the name of a kernel without a default variant";
}

}  // namespace
}  // namespace sgemm
