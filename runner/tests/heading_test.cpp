#include "report/console.hpp"

#include "fake_device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {
namespace {

/// The lines above a run's table on a machine without a GPU.
std::vector<std::string> lines_of(const Options& options, bool executing) {
  return heading(options, {std::nullopt, "no driver"}, {}, executing, "results/x.json");
}

auto lines_with(const std::vector<std::string>& lines, std::string_view part) {
  return std::count_if(lines.begin(), lines.end(),
                       [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

TEST(Heading, SaysThatNothingIsVerifiedWhereThatIsSo) {
  Options options;
  EXPECT_EQ(lines_with(lines_of(options, false), "NOT VERIFIED"), 0);
  options.protocol.verify = false;
  EXPECT_EQ(lines_with(lines_of(options, false), "NOT VERIFIED"), 1);
}

TEST(Heading, SaysOnceHowKernelsAreExecuted) {
  Options options;
  EXPECT_EQ(lines_with(lines_of(options, false), "executed on the CPU"), 0);
  EXPECT_EQ(lines_with(lines_of(options, true), "memory unchecked"), 1);
  options.protocol.check = true;
  EXPECT_EQ(lines_with(lines_of(options, true), "every access to memory checked"), 1);
  options = {};
  options.protocol.mode = Mode::count;
  EXPECT_EQ(lines_with(lines_of(options, true), "executed on the CPU"), 1);
}

TEST(Heading, NamesTheDeviceAndTheFile) {
  Options options;
  std::vector<std::string> lines = heading(options, {fake_device(), ""}, {"580.1", 0, 0.0, 0.0}, false, "x.json");
  EXPECT_EQ(lines.front(),
            "NVIDIA H200: compute capability 9.0, 132 SMs, 60 MiB L2, 141 GiB, up to 1980 MHz, driver 580.1");
  EXPECT_EQ(lines.back(), "Results: x.json");
}

}  // namespace
}  // namespace sgemm
