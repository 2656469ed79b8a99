// A product on a grid of ranks, each with a GPU of this machine. Where there are fewer GPUs than ranks, some share one.

#include "base/outcome.hpp"
#include "common/cuda_check.hpp"
#include "exchange/exchanges.hpp"
#include "ranks/thread_team.hpp"
#include "schedule/grid.hpp"
#include "teams.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace sgemm::test {
namespace {

int gpus() {
  int count = 0;
  CUDA_CHECK(cudaGetDeviceCount(&count));
  return count;
}

/// Expects right products of `local` on the grid, in several shapes.
void expect_right_products(ThreadTeam& team, const Grid& grid, const char* local) {
  for (const float beta : {0.0F, 0.5F}) {
    for (const Shape& shape : {Shape{1000, 1500, 2100, 1.5F, beta}, Shape{250, 130, 77, 1.5F, beta},
                               Shape{4096, 4096, 4096, 1.0F, beta}, Shape{64, 64, 0, 1.0F, beta}}) {
      SCOPED_TRACE(fmt::format("{}x{}x{} beta {} on {}x{}", shape.m, shape.n, shape.k, beta, grid.rows, grid.columns));
      RankJob job = job_of(shape, grid, local);
      job.alone = true;
      done(team.all({RankOrder::set_up, job}));
      for (const RankOrder order : {RankOrder::run, RankOrder::run_fresh, RankOrder::run_alone}) {
        done(team.all({order}));
        expect_right(team, shape);
      }
    }
  }
}

class ManyGpusTest : public testing::TestWithParam<const char*> {};

TEST_P(ManyGpusTest, IsRightOnEveryGrid) {
  for (const Grid& grid : {Grid{1, 1}, Grid{1, 2}, Grid{2, 1}, Grid{2, 2}, Grid{2, 3}}) {
    ThreadTeam team(grid.size(), peer_parts(gpus()));
    expect_right_products(team, grid, GetParam());
  }
}

/// Why this build does not exchange by NCCL; empty if it does.
std::string why_no_nccl() {
  try {
    make_nccl_id();
    return "";
  } catch (const CaseStopped& stopped) {
    return stopped.what();
  }
}

// No two ranks of NCCL share a GPU.
TEST_P(ManyGpusTest, IsRightByNccl) {
  if (const std::string reason = why_no_nccl(); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  for (const Grid& grid : {Grid{1, gpus()}, Grid{gpus(), 1}, Grid{2, gpus() / 2}}) {
    if (grid.size() == gpus()) {
      ThreadTeam team(grid.size(), nccl_parts(make_nccl_id(), grid.size(), [](int rank) { return rank; }));
      expect_right_products(team, grid, GetParam());
    }
  }
}

TEST(ManyGpusFaults, ARankThatDoesNotComeIsNoticed) {
  if (const std::string reason = why_no_nccl(); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  // NCCL is told of one rank more than there are.
  ThreadTeam team(1, nccl_parts(make_nccl_id(), 2, [](int rank) { return rank; }));
  done(team.all({RankOrder::set_up, job_of({64, 64, 64})}));
  const RankReply reply = team.all({RankOrder::run, {}, 1.0}).front();
  EXPECT_TRUE(reply.stopped);
  EXPECT_EQ(reply.outcome, Outcome::failed);
  EXPECT_TRUE(team.lost());
}

INSTANTIATE_TEST_SUITE_P(Local, ManyGpusTest, testing::Values("09_every_shape", "12_fp16x3", "13_int8x6"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ManyGpusMemory, TooLargeAProductIsSkippedWithTheReason) {
  ThreadTeam team(1, peer_parts(gpus()));
  const RankReply reply = team.all({RankOrder::set_up, job_of({1 << 20, 64, 1 << 20})}).front();  // 4 TiB of A
  EXPECT_TRUE(reply.stopped);
  EXPECT_EQ(reply.outcome, Outcome::skipped);
  EXPECT_NE(std::string_view(reply.reason.data()).find("GiB more memory on GPU 0"), std::string_view::npos)
      << reply.reason.data();
}

}  // namespace
}  // namespace sgemm::test
