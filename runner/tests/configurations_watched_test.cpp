// Workspaces when every access is observed.

#include "bench/case_runner.hpp"
#include "expectations.hpp"
#include "fixtures/configured_kernel.hpp"
#include "fixtures/product_case.hpp"
#include "problem/guarded_operands.hpp"
#include "simt/checked_arrays.hpp"
#include "simt/counter.hpp"
#include "simt/executor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace sgemm::test {
namespace {

/// The message of the checks about the second of two launches; empty where there is none.
std::string complaint(Way way) {
  const HostCase host({50, 40, 30});
  Matrix c = host.c;
  const Problem problem = host.problem(c);
  const simt::CheckedArrays arrays(arrays_of(problem));
  return message_of<simt::Error>([&] {
    const Prepared prepared =
        kernel_of(configured_chapter_for_checks({way})).build(Target::for_checks).prepare(problem);
    prepared(problem, nullptr);
    prepared(problem, nullptr);
  });
}

void expect_complaint(Way way, const std::string& part) {
  const std::string message = complaint(way);
  EXPECT_EQ(message.rfind("block (", 0), 0U) << message;
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(CheckedConfigurations, RightUseOfAWorkspace) {
  EXPECT_EQ(complaint(Way::two_sums), "");
  EXPECT_EQ(complaint(Way::one_sum), "");
}

TEST(CheckedConfigurations, WrongUsesOfAWorkspace) {
  expect_complaint(Way::no_barrier, "of workspace, which block (");
  expect_complaint(Way::workspace_short, "outside of all arrays");
  EXPECT_EQ(complaint(Way::two_sums), "") << "something is left of the errors";
}

simt::LaunchCounts counts_of(Way way, const simt::CountingLimits& limits) {
  const HostCase host({50, 40, 30});
  Matrix c = host.c;
  const Problem problem = host.problem(c);
  std::vector<simt::CountedArray> arrays;
  for (simt::GlobalArray& array : arrays_of(problem)) {
    arrays.push_back({std::move(array), 0, 1});
  }
  simt::Counting counting(
      std::move(arrays), [](std::size_t, unsigned) { return std::size_t{32768}; }, limits);
  kernel_of(configured_chapter_for_checks({way})).build(Target::for_checks).prepare(problem)(problem, nullptr);
  return std::move(counting.take().front());
}

TEST(CountedConfigurations, AccessesToTheWorkspaceAreAmongThem) {
  const simt::LaunchCounts with = counts_of(Way::two_sums, {});
  const simt::LaunchCounts without = counts_of(Way::one_sum, {});
  EXPECT_TRUE(with.whole());
  ASSERT_EQ(with.arrays.size(), 4U);
  EXPECT_EQ(with.arrays.back().array.name, "workspace");
  EXPECT_EQ(without.arrays.size(), 3U);
  // Each thread reads its sum once, the first half to add it up and the second to clear it.
  constexpr std::uint64_t SUMS = 4 * 3 * 16 * 16;
  EXPECT_EQ(with.bytes_read.back(), 2 * SUMS * sizeof(float));
  const auto in_workspace =
      std::ranges::count_if(with.lines, [](const simt::LineCounts& line) { return line.array == "workspace"; });
  EXPECT_EQ(in_workspace, 4);
  const auto asks_l2 = [](const simt::ExecutedBlock& block) {
    return std::ranges::any_of(block.traffic, [](const simt::SectorAccess& access) { return access.array == 3; });
  };
  EXPECT_TRUE(asks_l2(*with.executed.front()));
}

TEST(CountedConfigurations, BlocksWithAWorkspaceAreNotSampled) {
  constexpr simt::CountingLimits NEVER_WHOLE{0.0, 0.0, 8};
  EXPECT_THROW(counts_of(Way::two_sums, NEVER_WHOLE), simt::NotCountable);
}

/// How the case ends; with checks, and with counts.
Record run(Way way, bool count) {
  Protocol protocol;
  protocol.check = !count;
  protocol.mode = count ? Mode::count : Mode::measure;
  Kernel kernel = kernel_of(configured_chapter_for_executor({way}));
  kernel.build(Target::for_checks) = kernel_of(configured_chapter_for_checks({way})).build(Target::for_checks);
  CaseRunner runner(protocol, {std::nullopt, "none here"}, {true, {simt::find_gpu_model("h200"), {}, {}, false}});
  return runner.run({&kernel, {70, 50, 90}, {}}, [](std::string_view) {});
}

TEST(CheckedConfigurations, EndACaseAsOthersDo) {
  for (const bool count : {false, true}) {
    const Record record = run(Way::two_sums, count);
    EXPECT_EQ(record.outcome, count ? Outcome::counted : Outcome::executed) << record.reason;
    EXPECT_TRUE(record.verified);
  }
  expect_end(run(Way::workspace_short, false), Outcome::failed, "outside of all arrays");
  const auto written = [](Way way) { return run(way, true).counts["l2"]["in_step"]["written_bytes"]; };
  EXPECT_GT(written(Way::two_sums), written(Way::one_sum));
}

}  // namespace
}  // namespace sgemm::test
