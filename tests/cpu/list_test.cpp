#include "report/list.hpp"

#include "fake_kernels.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
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

TEST(List, TableShowsEveryKernelAndVariant) {
  EXPECT_EQ(listing(fake_kernels(), ListFormat::table), R"(No  Kernel            CC  Summary
 0  cublas           7.5  summary of cublas
 -  cpu_blas         CPU  summary of cpu_blas
 -  cublas_tf32      8.0  summary of cublas_tf32
 1  naive            7.5  summary of 01_naive
      :uncoalesced   7.5  summary of 01_naive:uncoalesced
 2  smem_tiled       7.5  summary of 02_smem_tiled
      :32            7.5  summary of 02_smem_tiled:32
      :tile32        7.5  summary of 02_smem_tiled:tile32
 3  strip_tiled      7.5  summary of 03_strip_tiled
 5  coarse_1d        7.5  summary of 05_coarse_1d
 6  coarse_2d        7.5  summary of 06_coarse_2d
      :vectorized    7.5  summary of 06_coarse_2d:vectorized
10  split_k
      :atomic        7.5  summary of 10_split_k:atomic
      :reduce        7.5  summary of 10_split_k:reduce
)");
}

TEST(List, TableWrapsSummaries) {
  std::vector<Kernel> kernels{fake_kernel(7, "hilbert")};
  kernels[0].summary = "block tiles in the order of a Hilbert curve, four stages of asynchronous copies";
  EXPECT_EQ(listing(kernels, ListFormat::table, 60), R"(No  Kernel     CC  Summary
 7  hilbert   7.5  block tiles in the order of a Hilbert
                   curve, four stages of asynchronous copies
)");
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

TEST(List, TableStaysReadableWhereTheTerminalIsTooNarrow) {
  std::vector<Kernel> kernels{fake_kernel(1, "naive")};
  kernels[0].summary = "one two three four five an_exceptionally_long_word_that_does_not_fit six";
  const std::vector<std::string> expected{"No  Kernel    CC  Summary", " 1  naive    7.5  one two three four five",
                                          "                  an_exceptionally_long_word_that_does_not_fit",
                                          "                  six"};
  for (const int width : {1, 10, 30}) {
    EXPECT_EQ(lines(listing(kernels, ListFormat::table, width)), expected);
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

TEST(List, JsonGroupsVariants) {
  const auto list = nlohmann::json::parse(listing(fake_kernels(), ListFormat::json));
  ASSERT_EQ(list.size(), 9U);
  EXPECT_EQ(list[3], nlohmann::json::parse(R"({
    "number": 1, "name": "naive", "id": "01_naive", "variants": [
      {"variant": "", "id": "01_naive", "default": true, "summary": "summary of 01_naive",
       "source": "source of 01_naive", "platform": "gpu", "accuracy_class": "fp32", "min_compute_capability": "7.5",
       "max_compute_capability": null},
      {"variant": "uncoalesced", "id": "01_naive:uncoalesced", "default": false,
       "summary": "summary of 01_naive:uncoalesced", "source": "source of 01_naive:uncoalesced", "platform": "gpu",
       "accuracy_class": "fp32", "min_compute_capability": "7.5", "max_compute_capability": null}]})"));
}

TEST(List, JsonOfBaselines) {
  const auto list = nlohmann::json::parse(listing(fake_kernels(), ListFormat::json));
  EXPECT_EQ(list[0]["number"], 0);
  EXPECT_EQ(list[0]["id"], "cublas");
  EXPECT_EQ(list[1], nlohmann::json::parse(R"({
    "number": null, "name": "cpu_blas", "id": "cpu_blas", "variants": [
      {"variant": "", "id": "cpu_blas", "default": true, "summary": "summary of cpu_blas",
       "source": "source of cpu_blas", "platform": "cpu", "accuracy_class": "fp32", "min_compute_capability": null,
       "max_compute_capability": null}]})"));
  EXPECT_EQ(list[2]["variants"][0]["accuracy_class"], "tf32");
  EXPECT_EQ(list[2]["variants"][0]["min_compute_capability"], "8.0");
}

TEST(List, JsonTellsTheLastComputeCapability) {
  Kernel kernel = fake_kernel(12, "fp16x3");
  kernel.accuracy = AccuracyClass::fp16_split;
  kernel.min_compute_capability = 90;
  kernel.max_compute_capability = 103;
  const auto list = nlohmann::json::parse(listing({kernel}, ListFormat::json));
  const auto& variant = list[0]["variants"][0];
  EXPECT_EQ(variant["accuracy_class"], "fp16_split");
  EXPECT_EQ(variant["min_compute_capability"], "9.0");
  EXPECT_EQ(variant["max_compute_capability"], "10.3");
}

TEST(List, JsonHasEveryKernelOnceInOrder) {
  std::vector<std::string> ids;
  for (const auto& kernel : nlohmann::json::parse(listing(fake_kernels(), ListFormat::json))) {
    for (const auto& variant : kernel["variants"]) {
      ids.push_back(variant["id"]);
    }
  }
  std::vector<std::string> expected;
  for (const Kernel& kernel : fake_kernels()) {
    expected.push_back(kernel.id());
  }
  EXPECT_EQ(ids, expected);
}

TEST(List, Nothing) {
  EXPECT_EQ(listing({}, ListFormat::table), "No  Kernel    CC  Summary\n");
  EXPECT_EQ(listing({}, ListFormat::json), "[]\n");
}

}  // namespace
}  // namespace sgemm
