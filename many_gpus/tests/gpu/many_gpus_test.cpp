// A product on a grid of ranks, each with a GPU of this machine. Where there are fewer GPUs than ranks, some share one.

#include "base/outcome.hpp"
#include "common/cuda_check.hpp"
#include "exchange/nccl_exchange.hpp"
#include "ranks/gpu_parts.hpp"
#include "schedule/grid.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace sgemm::test {
namespace {

int gpus() {
  int count = 0;
  CUDA_CHECK(cudaGetDeviceCount(&count));
  return count;
}

int position_of(std::string_view id) { return static_cast<int>(find_kernel(id) - kernels().data()); }

/// The replies, none of which says that a rank was stopped.
std::vector<RankReply> done(ThreadTeam& team, const RankMessage& message) {
  const std::vector<RankReply> replies = team.all(message);
  for (std::size_t rank = 0; rank < replies.size(); ++rank) {
    EXPECT_FALSE(replies[rank].stopped) << "rank " << rank << ": " << replies[rank].reason.data();
  }
  return replies;
}

void expect_right(ThreadTeam& team, const RankJob& job) {
  for (const RankReply& reply : done(team, {RankOrder::check, {}})) {
    EXPECT_EQ(reply.verdict.wrong, 0) << reply.verdict.describe();
    EXPECT_GT(reply.verdict.compared, 0) << job.shape.m;
  }
}

/// Expects right products of `local` on the grid, in several shapes.
void expect_right_products(ThreadTeam& team, const Grid& grid, const char* local) {
  for (const float beta : {0.0F, 0.5F}) {
    for (const Shape& shape : {Shape{1000, 1500, 2100, 1.5F, beta}, Shape{250, 130, 77, 1.5F, beta},
                               Shape{4096, 4096, 4096, 1.0F, beta}, Shape{64, 64, 0, 1.0F, beta}}) {
      SCOPED_TRACE(fmt::format("{}x{}x{} beta {} on {}x{}", shape.m, shape.n, shape.k, beta, grid.rows, grid.columns));
      RankJob job;
      job.shape = shape;
      job.seed = 7;
      job.grid = grid;
      job.local_kernel = position_of(local);
      job.accuracy = kernels()[static_cast<std::size_t>(job.local_kernel)].accuracy;
      job.alone = true;
      done(team, {RankOrder::set_up, job});
      for (const RankOrder order : {RankOrder::run, RankOrder::run_fresh, RankOrder::run_alone}) {
        done(team, {order, {}});
        expect_right(team, job);
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
  RankJob job;
  job.shape = {64, 64, 64};
  job.local_kernel = position_of("09_every_shape");
  done(team, {RankOrder::set_up, job});
  const RankReply reply = team.all({RankOrder::run, {}, 1.0}).front();
  EXPECT_TRUE(reply.stopped);
  EXPECT_EQ(reply.outcome, Outcome::failed);
  EXPECT_TRUE(team.lost());
}

INSTANTIATE_TEST_SUITE_P(Local, ManyGpusTest, testing::Values("09_every_shape", "12_fp16x3", "13_int8x6"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ManyGpusMemory, TooLargeAProductIsSkippedWithTheReason) {
  ThreadTeam team(1, peer_parts(gpus()));
  RankJob job;
  job.shape = {1 << 20, 64, 1 << 20};  // 4 TiB of A
  job.local_kernel = position_of("09_every_shape");
  const RankReply reply = team.all({RankOrder::set_up, job}).front();
  EXPECT_TRUE(reply.stopped);
  EXPECT_EQ(reply.outcome, Outcome::skipped);
  EXPECT_NE(std::string_view(reply.reason.data()).find("GiB more memory on GPU 0"), std::string_view::npos)
      << reply.reason.data();
}

}  // namespace
}  // namespace sgemm::test
