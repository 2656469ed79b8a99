// What --list prints. list.txt has it for made-up kernels.

#include "report/console.hpp"

#include "fake_kernels.hpp"
#include "page.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace sgemm {
namespace {

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
  expect_page("list.txt", "## All\n\n" + listing(fake_kernels(), ListFormat::table) + "\n## In 60 columns\n\n" +
                              listing(wrapped, ListFormat::table, 60) + "\n## In a terminal that is too narrow\n\n" +
                              listing(narrow, ListFormat::table, 30) + "\n## None\n\n" +
                              listing({}, ListFormat::table) + listing({}, ListFormat::json) + "\n## In JSON\n\n" +
                              listing(fake_kernels(), ListFormat::json) + listing({last}, ListFormat::json));
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
  EXPECT_EQ(static_cast<std::size_t>(std::count(unlimited.begin(), unlimited.end(), '\n')), kernels.size() + 2)
      << "a line for each, the heading, and the name of a kernel without a default variant";
}

}  // namespace
}  // namespace sgemm
