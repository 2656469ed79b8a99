#include "cli/selection.hpp"

#include "base/usage_error.hpp"
#include "fake_kernels.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sgemm {
namespace {

std::vector<std::string> names(const std::string& filter) {
  const std::vector<Kernel> kernels{fake_kernel(0, "cublas"), fake_kernel(1, "naive", "uncoalesced")};
  std::vector<std::string> result;
  for (const Case& item :
       choose_cases(make_plan({&kernels[0], &kernels[1]}, {{64, 64, 64}, {128, 1, 7}}, {}), {filter})) {
    result.push_back(item.name());
  }
  return result;
}

const std::vector<std::string> EVERYTHING{"sgemm/cublas/64x64x64", "sgemm/01_naive:uncoalesced/64x64x64",
                                          "sgemm/cublas/128x1x7", "sgemm/01_naive:uncoalesced/128x1x7"};

TEST(Plan, GoesSizeBySize) {
  EXPECT_EQ(names("all"), EVERYTHING);
  EXPECT_EQ(names("."), EVERYTHING);
}

TEST(Plan, GoesThroughTheOperandsOfASize) {
  const std::vector<Kernel> kernels{fake_kernel(0, "cublas"), fake_kernel(1, "naive")};
  std::vector<std::string> result;
  for (const Case& item : choose_cases(
           make_plan({&kernels[0], &kernels[1]}, {{64, 64, 64}, {8, 8, 8}}, {Distribution::normal, Distribution::inf}),
           {"64x|naive"})) {
    result.push_back(item.name());
  }
  EXPECT_EQ(result, (std::vector<std::string>{"sgemm/cublas/64x64x64/normal", "sgemm/01_naive/64x64x64/normal",
                                              "sgemm/cublas/64x64x64/inf", "sgemm/01_naive/64x64x64/inf",
                                              "sgemm/01_naive/8x8x8/normal", "sgemm/01_naive/8x8x8/inf"}));
}

TEST(Plan, FiltersByTheDocumentedNames) {
  EXPECT_EQ(names("cublas/.*7$"), std::vector<std::string>{"sgemm/cublas/128x1x7"});
  EXPECT_EQ(names("-cublas"), (std::vector<std::string>{EVERYTHING[1], EVERYTHING[3]}));
  EXPECT_THROW(names("iterations"), UsageError);
  EXPECT_THROW(names("("), UsageError);
}

}  // namespace
}  // namespace sgemm
