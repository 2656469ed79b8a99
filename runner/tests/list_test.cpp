// What --list prints. list.txt has it for made-up kernels.

#include "report/list.hpp"

#include "fake_kernels.hpp"
#include "page.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace sgemm {
namespace {

std::string listing(const std::vector<Kernel>& kernels, ListFormat mode, int terminal_width = 0) {
  std::ostringstream out;
  print_list(out, kernels, mode, terminal_width);
  return out.str();
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    result.push_back(line);
  }
  return result;
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
  expect_page("list.txt", "## All\n\n" + listing(fake_kernels(), ListFormat::table) + "\n## In 60 columns\n\n" +
                              listing(wrapped, ListFormat::table, 60) + "\n## In a terminal that is too narrow\n\n" +
                              listing(narrow, ListFormat::table, 30) + "\n## None\n\n" +
                              listing({}, ListFormat::table) + listing({}, ListFormat::json) + "\n## In JSON\n\n" +
                              listing(fake_kernels(), ListFormat::json) + listing({last}, ListFormat::json));
  for (const int width : {1, 10}) {
    EXPECT_EQ(listing(narrow, ListFormat::table, width), listing(narrow, ListFormat::table, 30));
  }
}

TEST(List, TableKeepsToTheWidth) {
  std::vector<Kernel> kernels = fake_kernels();
  for (Kernel& kernel : kernels) {
    kernel.summary = "many short words that fill one line or two or even three of a common terminal and then some more";
  }
  for (const int width : {60, 80, 100, 120}) {
    for (const std::string& line : lines(listing(kernels, ListFormat::table, width))) {
      EXPECT_LE(line.size(), static_cast<std::size_t>(width)) << line;
    }
  }
}

TEST(List, TableWithoutAWidthDoesNotWrap) {
  std::vector<Kernel> kernels{fake_kernel(1, "naive")};
  kernels[0].summary.assign(500, 'x');
  kernels[0].summary += " y";
  for (const int width : {0, -1}) {
    EXPECT_EQ(lines(listing(kernels, ListFormat::table, width)).size(), 2U);
  }
}

TEST(List, NoTrailingBlanks) {
  for (const std::string& line : lines(listing(fake_kernels(), ListFormat::table, 80))) {
    EXPECT_FALSE(line.empty());
    EXPECT_NE(line.back(), ' ');
  }
}

}  // namespace
}  // namespace sgemm
