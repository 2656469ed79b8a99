// Products on several GPUs from the command line to their records, with ranks on the executor.

#include "ranks/ranks_bench.hpp"
#include "base/outcome.hpp"
#include "bench/case_runner.hpp"
#include "bench/operand_set.hpp"
#include "cli/options.hpp"
#include "cli/selection.hpp"
#include "expectations.hpp"
#include "fakes.hpp"
#include "ranks/launch.hpp"
#include "ranks/team.hpp"
#include "record/record.hpp"
#include "verify/verify.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sgemm::test {
namespace {

/// The launch that an environment with these variables tells.
std::string launch_with(const std::map<std::string, std::string>& variables) {
  for (const auto& [name, value] : variables) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  const std::optional<Launch> launch = find_launch();
  for (const auto& [name, value] : variables) {
    unsetenv(name.c_str());
  }
  return launch ? fmt::format("{}: {} of {}{}", launch->launcher, launch->rank, launch->size,
                              launch->has_pmi ? " with PMI" : "")
                : "none";
}

TEST(LaunchTest, KnowsItsPlaceFromTheEnvironment) {
  EXPECT_EQ(launch_with({}), "none");
  EXPECT_EQ(launch_with({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}}), "mpirun: 1 of 4");
  std::map<std::string, std::string> slurm{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}};
  EXPECT_EQ(launch_with(slurm), "none") << "a script of sbatch is no step of srun";
  slurm["SLURM_STEP_NUM_TASKS"] = "1";
  EXPECT_EQ(launch_with(slurm), "none");
  slurm["SLURM_STEP_NUM_TASKS"] = "4";
  EXPECT_EQ(launch_with(slurm), "srun: 0 of 4");
  slurm["PMIX_RANK"] = "0";
  EXPECT_EQ(launch_with(slurm), "srun: 0 of 4 with PMI");
}

TEST(RunTimeTest, ProcessesWithoutACommonClockCountTheirOwnTimes) {
  const std::vector<RankReply> replies{{.begin_us = 10.0, .end_us = 30.0}, {.begin_us = 115.0, .end_us = 140.0}};
  EXPECT_DOUBLE_EQ(run_us(replies, true), 130.0);
  EXPECT_DOUBLE_EQ(run_us(replies, false), 25.0);
}

TEST(RankSelectionTest, GroupsLeaveProductsOnSeveralGpusOut) {
  for (const char* const group : {"all", "chapters"}) {
    for (const Kernel* const kernel : select_kernels(group, kernels())) {
      EXPECT_TRUE(kernel->local_kernel.empty()) << group << ": " << kernel->id();
    }
  }
  EXPECT_EQ(select_kernels("many_gpus:*", kernels()).size(), 5U);
}

TEST(RankSelectionTest, LocalKernelsPromiseTheSame) {
  for (const Kernel* const kernel : select_kernels("many_gpus:*", kernels())) {
    const Kernel* const local = find_kernel(kernel->local_kernel);
    if (!local) {
      continue;  // some builds for tests lack chapters
    }
    EXPECT_EQ(local->accuracy, kernel->accuracy) << kernel->id();
    EXPECT_EQ(local->min_compute_capability, kernel->min_compute_capability) << kernel->id();
  }
}

Verdict part(double rel_err, double reference_squares, std::int64_t wrong) {
  Verdict verdict;
  verdict.full = true;
  verdict.compared = 10;
  verdict.wrong = wrong;
  verdict.error_squares = rel_err * rel_err * reference_squares;
  verdict.magnitude_squares = 100.0 * verdict.error_squares;
  verdict.reference_squares = reference_squares;
  verdict.max_bound_ratio = rel_err;
  verdict.componentwise_err = rel_err;
  verdict.first_wrong_row = wrong > 0 ? 7 : -1;
  return verdict;
}

TEST(VerdictTest, JoinsPartsByTheirWeight) {
  Verdict all;
  all.join({});
  EXPECT_EQ(all.compared, 0);
  all.join(part(3.0, 1.0, 0));
  all.join({});
  all.join(part(1.0, 3.0, 2));
  EXPECT_EQ(all.compared, 20);
  EXPECT_EQ(all.wrong, 2);
  EXPECT_EQ(all.first_wrong_row, 7);
  EXPECT_TRUE(all.full);
  EXPECT_DOUBLE_EQ(all.rel_err(), std::sqrt((9.0 + 3.0) / 4.0));
  EXPECT_DOUBLE_EQ(*all.condition(), 10.0 * std::sqrt((9.0 + 3.0) / 4.0));
  EXPECT_DOUBLE_EQ(all.max_bound_ratio, 3.0);
  EXPECT_DOUBLE_EQ(all.componentwise_err, 3.0);
  EXPECT_DOUBLE_EQ(all.reference_squares, 4.0);
}

class RanksBenchTest : public testing::Test {
 protected:
  Record run(const std::string& kernel, const Size& size, const RankOptions& ranks) {
    CaseRunner::Settings settings;
    settings.several_gpus = [&](const Protocol& of_run, const std::optional<Device>& device, StopToken stop) {
      return std::make_unique<RanksBench>(of_run, RankSettings{ranks}, device, stop);
    };
    CaseRunner runner(protocol, {std::nullopt, "--device cpu"}, settings);
    return runner.run({select_kernels(kernel, kernels()).front(), size, {}}, [](std::string_view) {});
  }

  Protocol protocol;
};

TEST_F(RanksBenchTest, ExecutesAndTellsWhatTravelled) {
  protocol.beta = 0.5F;
  const Record record = run("many_gpus", {250, 130, 77}, {6, Grid{2, 3}});
  EXPECT_EQ(record.outcome, Outcome::executed) << record.reason;
  EXPECT_TRUE(record.verified);
  EXPECT_LT(*record.rel_err, 1e-6);
  ASSERT_TRUE(record.spread.is_object());
  EXPECT_EQ(record.spread["gpus"], 6);
  EXPECT_EQ(record.spread["exchange"], "host copies");
  // Rank 5 receives most: it computes 125 x 42 elements of C, and owns 25 of 77 columns of A and 38 of 77 rows of B.
  EXPECT_EQ(record.spread["received_bytes"], 4.0 * (125 * (77 - 25) + 42 * (77 - 38)));
  EXPECT_EQ(record.spread["grid"], "2x3");
  EXPECT_FALSE(record.spread.contains("of_ceiling"));
  EXPECT_EQ(to_json(record, 1)["spread"], record.spread);
}

TEST_F(RanksBenchTest, TakesTheGridThatReceivesLeast) {
  EXPECT_EQ(run("many_gpus", {96, 96, 96}, {}).spread["grid"], "2x2");
  EXPECT_EQ(run("many_gpus", {96, 96, 96}, {1, {}}).spread["received_bytes"], 0.0);
}

TEST_F(RanksBenchTest, SaysWhatItCanNotDo) {
  EXPECT_EQ(run("many_gpus", {0, 5, 5}, {}).outcome, Outcome::not_supported);
  protocol.check = true;
  const Record checked = run("many_gpus:fp16x3", {64, 64, 64}, {});
  EXPECT_EQ(checked.outcome, Outcome::not_supported);
  EXPECT_EQ(checked.reason, "--check looks at one GPU: take 12_fp16x3, which each of them runs");
}

TEST_F(RanksBenchTest, LeavesGpusOutThatLackTheCodeOfTheLocalKernel) {
  OperandSet operands({64, 64, 64}, {}, protocol);
  Device device = fake_device();
  device.compute_capability = 80;
  RanksBench bench(protocol, {}, device, {});
  EXPECT_EQ(end_of([&] { bench.require(*select_kernels("many_gpus:fp16x3", kernels()).front(), operands); }),
            "not_supported: needs compute capability 9.0, this device has 8.0");
}

}  // namespace
}  // namespace sgemm::test
