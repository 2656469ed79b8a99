// A product on a grid of ranks: who owns and receives what, in which order, and the product itself, by ranks that are
// threads and compute on the executor.

#include "base/outcome.hpp"
#include "cli/options.hpp"
#include "exchange/host_exchange.hpp"
#include "exchange/patience.hpp"
#include "problem/operands.hpp"
#include "ranks/job.hpp"
#include "ranks/rank.hpp"
#include "ranks/rank_device.hpp"
#include "ranks/thread_team.hpp"
#include "reproducible/definition.hpp"
#include "schedule/grid.hpp"
#include "schedule/product.hpp"
#include "schedule/schedule.hpp"
#include "teams.hpp"
#include "verify/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sgemm::test {
namespace {

constexpr Grid GRIDS[] = {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {1, 3}, {2, 3}, {3, 2}};

/// Some that no grid divides, some with fewer rows, columns or products than ranks, and one of the size for GPUs.
constexpr Shape SHAPES[] = {{96, 96, 96}, {250, 130, 77}, {1, 1, 1},   {20, 30, 0},
                            {2, 40, 33},  {40, 1, 33},    {40, 33, 2}, {8192, 4096, 12288}};

constexpr std::int64_t FIRST_ROWS_TRIED[] = {1, 8, FIRST_ROWS};

/// Calls `visit(shape, grid, rank, first_rows)` for all ranks of all the above.
template <class Visit>
void for_each_rank(const Visit& visit) {
  for (const Shape& shape : SHAPES) {
    for (const Grid& grid : GRIDS) {
      for (const std::int64_t first_rows : FIRST_ROWS_TRIED) {
        for (int rank = 0; rank < grid.size(); ++rank) {
          SCOPED_TRACE(fmt::format("{}x{}x{} on {}x{}, rank {}, first rows {}", shape.m, shape.n, shape.k, grid.rows,
                                   grid.columns, rank, first_rows));
          visit(shape, grid, rank, first_rows);
        }
      }
    }
  }
}

/// How often each index of K is there.
class Coverage {
 public:
  explicit Coverage(std::int64_t k) : times_(static_cast<std::size_t>(k)) {}

  void add(Range range) {
    for (std::int64_t k = range.begin; k < range.end; ++k) {
      ++times_.at(static_cast<std::size_t>(k));
    }
  }
  bool has(Range range) const {
    return std::all_of(times_.begin() + range.begin, times_.begin() + range.end, [](int times) { return times > 0; });
  }
  bool once() const {
    return std::all_of(times_.begin(), times_.end(), [](int times) { return times == 1; });
  }

 private:
  std::vector<int> times_;
};

bool inside(Range inner, Range outer) { return outer.begin <= inner.begin && inner.end <= outer.end; }

TEST(ManyGpusTest, PartsCoverAnExtentOnceAndLongOnesAreAligned) {
  for (const std::int64_t extent : {0, 1, 2, 5, 77, 96, 250, 999, 3999, 4000, 4097, 16384, 49152}) {
    for (const int parts : {1, 2, 3, 4, 7, 8}) {
      SCOPED_TRACE(fmt::format("{} in {}", extent, parts));
      std::int64_t end = 0;
      for (int i = 0; i < parts; ++i) {
        const Range range = part(extent, parts, i);
        EXPECT_EQ(range.begin, end);
        EXPECT_TRUE(extent < 1000 * parts || range.empty() || range.begin % 64 == 0);
        EXPECT_LT(static_cast<double>(range.size()),
                  static_cast<double>(extent) / parts + (extent >= 1000 * parts ? 64.0 : 1.0));
        end = range.end;
      }
      EXPECT_EQ(end, extent);
    }
  }
}

TEST(ManyGpusTest, TheBestGridReceivesLeast) {
  EXPECT_EQ(best_grid({4096, 4096, 4096}, 1), (Grid{1, 1}));
  EXPECT_EQ(best_grid({16384, 16384, 16384}, 4), (Grid{2, 2}));
  EXPECT_EQ(best_grid({16384, 16384, 16384}, 8), (Grid{2, 4}));
  EXPECT_EQ(best_grid({16384, 16384, 16384}, 5), (Grid{1, 5}));
  EXPECT_EQ(best_grid({100000, 128, 4096}, 4), (Grid{4, 1}));
  EXPECT_EQ(best_grid({128, 100000, 4096}, 4), (Grid{1, 4}));
}

TEST(ManyGpusTest, StepsAreAllOfKOnceAndPiecesComeFromTheirOwnerBefore) {
  for_each_rank([](const Shape& shape, const Grid& grid, int rank, std::int64_t first_rows) {
    const Schedule schedule = make_schedule(shape, grid, rank, first_rows);
    if (!grid.has_c(shape, rank)) {
      EXPECT_TRUE(schedule.pieces.empty());
      EXPECT_EQ(schedule.steps.size(), 1U);
      return;
    }
    Coverage k(shape.k);
    Coverage a(shape.k);
    Coverage b(shape.k);
    a.add(grid.a_depth(shape, rank));
    b.add(grid.b_depth(shape, rank));
    std::size_t here = 0;
    for (const Step& step : schedule.steps) {
      EXPECT_GE(step.pieces, here);
      for (; here < step.pieces; ++here) {
        const Piece& piece = schedule.pieces.at(here);
        EXPECT_NE(piece.owner, rank);
        EXPECT_FALSE(piece.k.empty());
        if (piece.operand == Operand::a) {
          EXPECT_EQ(grid.row(piece.owner), grid.row(rank));
          EXPECT_EQ(piece.k, grid.a_depth(shape, piece.owner));
          a.add(piece.k);
        } else {
          EXPECT_EQ(grid.column(piece.owner), grid.column(rank));
          EXPECT_TRUE(inside(piece.k, grid.b_depth(shape, piece.owner)));
          b.add(piece.k);
        }
      }
      EXPECT_TRUE(a.has(step.k));
      EXPECT_TRUE(b.has(step.k));
      EXPECT_TRUE(inside(step.k, step.a_block));
      k.add(step.k);
    }
    EXPECT_EQ(here, schedule.pieces.size());
    EXPECT_TRUE(k.once());
    EXPECT_TRUE(a.once());
    EXPECT_TRUE(b.once());
  });
}

TEST(ManyGpusTest, ARankReceivesWhatTheGridSaysAndAnotherSendsIt) {
  for_each_rank([](const Shape& shape, const Grid& grid, int rank, std::int64_t first_rows) {
    if (rank > 0) {
      return;  // all ranks are looked at together
    }
    std::vector<Transfer> received;
    std::vector<Transfer> sent;
    for (int each = 0; each < grid.size(); ++each) {
      const Transfers transfers = transfers_of(shape, grid, each, first_rows);
      const Panels owner = panels_of(shape, grid, each);
      double floats = 0.0;
      for (std::size_t i = 0; i < transfers.incoming.size(); ++i) {
        EXPECT_EQ(transfers.incoming[i].to, each);
        EXPECT_EQ(transfers.incoming[i].turn, i);
        floats += static_cast<double>(transfers.incoming[i].floats);
        received.push_back(transfers.incoming[i]);
      }
      EXPECT_EQ(floats, floats_received(shape, grid, each));
      EXPECT_TRUE(std::is_sorted(transfers.outgoing.begin(), transfers.outgoing.end(),
                                 [](const Transfer& x, const Transfer& y) { return x.turn < y.turn; }));
      for (const Transfer& transfer : transfers.outgoing) {
        EXPECT_EQ(transfer.from, each);
        const bool is_a = transfer.operand == Operand::a;
        const Range own = is_a ? grid.a_depth(shape, each) : grid.b_depth(shape, each);
        const std::int64_t floats_of_k = is_a ? owner.rows : owner.columns;
        EXPECT_TRUE(
            inside({transfer.at, transfer.at + transfer.floats}, {own.begin * floats_of_k, own.end * floats_of_k}));
        sent.push_back(transfer);
      }
    }
    std::sort(received.begin(), received.end());
    std::sort(sent.begin(), sent.end());
    EXPECT_TRUE(received == sent);
  });
}

// Rank 1 of 2 x 2 owns the second half of K in A and the first half in B, so that it has to wait.
TEST(ManyGpusTest, ARankThatCanComputeNothingGetsGrowingPieces) {
  const Schedule schedule = make_schedule({64, 64, 128}, {2, 2}, 1, 4);
  EXPECT_EQ(
      schedule.pieces,
      (std::vector<Piece>{
          {Operand::b, 3, {64, 68}}, {Operand::b, 3, {68, 84}}, {Operand::b, 3, {84, 128}}, {Operand::a, 0, {0, 64}}}));
  const Range second{64, 128};
  EXPECT_EQ(
      schedule.steps,
      (std::vector<Step>{{{64, 68}, second, 1}, {{68, 84}, second, 2}, {{84, 128}, second, 3}, {{0, 64}, {0, 64}, 4}}));
}

TEST(ManyGpusTest, ARankThatCanComputeGetsWholeBlocks) {
  const Schedule schedule = make_schedule({64, 64, 128}, {2, 2}, 0, 4);
  EXPECT_EQ(schedule.pieces, (std::vector<Piece>{{Operand::a, 1, {64, 128}}, {Operand::b, 2, {64, 128}}}));
  EXPECT_EQ(schedule.steps, (std::vector<Step>{{{0, 64}, {0, 64}, 0}, {{64, 128}, {64, 128}, 2}}));
}

/// With small first pieces, so that there are several.
RankJob job_in_pieces(const Shape& shape, const Grid& grid, std::string_view local = "09_every_shape") {
  RankJob job = job_of(shape, grid, local);
  job.first_rows = 8;
  return job;
}

/// Whether the executor has the kernel: some builds for tests lack chapters.
bool is_executed(std::string_view id) {
  const Kernel* const found = find_kernel(id);
  return found && found->build(Target::for_executor);
}

class LocalKernelTest : public testing::TestWithParam<const char*> {};

TEST_P(LocalKernelTest, ComputesTheProductOnEveryGrid) {
  if (!is_executed(GetParam())) {
    GTEST_SKIP() << "this build has no " << GetParam() << " for the executor";
  }
  for (const Grid& grid : {Grid{1, 1}, Grid{1, 2}, Grid{2, 2}, Grid{1, 3}, Grid{2, 3}}) {
    ThreadTeam team(grid.size(), host_parts());
    for (const Shape& shape :
         {Shape{96, 96, 96, -1.5F, 0.0F}, Shape{250, 130, 77, -1.5F, 0.5F}, Shape{1, 40, 33, 1.0F, 0.0F},
          Shape{20, 30, 0, 1.0F, 0.0F}, Shape{20, 30, 0, 1.0F, 0.5F}}) {
      SCOPED_TRACE(
          fmt::format("{}x{}x{} beta {} on {}x{}", shape.m, shape.n, shape.k, shape.beta, grid.rows, grid.columns));
      done(team.all({RankOrder::set_up, job_in_pieces(shape, grid, GetParam())}));
      for (const RankOrder order : {RankOrder::run, RankOrder::run_fresh}) {
        for (const RankReply& reply : done(team.all({order}))) {
          EXPECT_LE(reply.begin_us, reply.end_us);
        }
        expect_right(team, shape);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(RankTeamTest, LocalKernelTest,
                         testing::Values("09_every_shape", "13_int8x6", "15_reproducible"),
                         [](const auto& info) { return std::string(info.param); });

/// The relative error of rank 0's block of C by chapter 13, with all pieces in place. In the first half of K, A is
/// large and B is small, and in the second half it is the other way round.
double int8_error_of_opposite_halves(const Grid& grid) {
  constexpr Shape SHAPE{16, 24, 256};
  constexpr float SMALL = 0x1p-20F;
  HostOperands whole = make_operands(SHAPE, Distribution::uniform, 7);
  for (std::size_t i = 0; i < whole.a.size(); ++i) {
    whole.a[i] *= i % SHAPE.k < SHAPE.k / 2 ? 1.0F : SMALL;
  }
  for (std::size_t i = 0; i < whole.b.size(); ++i) {
    whole.b[i] *= i / SHAPE.n < SHAPE.k / 2 ? SMALL : 1.0F;
  }
  const Panels panels = panels_of(SHAPE, grid, 0);
  HostRankDevice host;
  std::vector<float> a(whole.a.size());
  std::vector<float> b(whole.b.size());
  std::vector<float> c(static_cast<std::size_t>(panels.rows * panels.columns));
  for (int owner = 0; owner < grid.columns; ++owner) {
    const Range k = grid.a_depth(SHAPE, owner);
    host.copy(a.data() + panels.a_at(k.begin), k.size(), whole.a.data() + k.begin, SHAPE.k, panels.rows, k.size());
  }
  host.copy(b.data(), panels.columns, whole.b.data(), SHAPE.n, SHAPE.k, panels.columns);
  const Build& build = kernels()[static_cast<std::size_t>(position_of("13_int8x6"))].build(Target::for_executor);
  for (const Problem& step :
       problems_of(make_schedule(SHAPE, grid, 0), SHAPE, panels, {a.data(), b.data()}, c.data())) {
    build.prepare(step)(step, nullptr);
  }
  Problem block = packed(SHAPE, whole.a.data(), whole.b.data(), nullptr);
  block.n = block.ldc = panels.columns;
  return Reference::compute(block, Platform::cpu, 7)->check(c.data(), block.ldc, AccuracyClass::int8_split).rel_err();
}

// Chapter 13 loses numbers that are small beside others of their row or column. A step looks at its own part of K.
TEST(Int8StepsTest, EveryStepHasScalesOfItsOwn) {
  if (!is_executed("13_int8x6")) {
    GTEST_SKIP() << "this build has no chapter 13 for the executor";
  }
  EXPECT_GT(int8_error_of_opposite_halves({1, 1}), 1e-2);
  EXPECT_LT(int8_error_of_opposite_halves({1, 2}), 1e-6);
}

/// The host, which tells the problem that a rank has prepared last.
class ToldDevice final : public HostRankDevice {
 public:
  explicit ToldDevice(Problem& told) : told_(told) {}

  Prepared prepare(const Build& build, const Problem& problem) override {
    told_ = problem;
    return HostRankDevice::prepare(build, problem);
  }

 private:
  Problem& told_;
};

TEST(ReproducibleRanksTest, EveryGridHasTheBitsOfTheDefinition) {
  if (!is_executed("15_reproducible")) {
    GTEST_SKIP() << "this build has no chapter 15 for the executor";
  }
  for (const Shape& shape :
       {Shape{250, 130, 77, -1.5F, 0.5F}, Shape{33, 140, 300, 1.0F, 0.0F}, Shape{20, 30, 0, 1.0F, 0.5F}}) {
    const HostOperands operands = make_operands(shape, Distribution::uniform, 7);
    std::vector<float> expected = operands.c0;
    expected.resize(static_cast<std::size_t>(shape.m * shape.n));
    reproducible::reference(packed(shape, operands.a.data(), operands.b.data(), expected.data()));
    for (const Grid& grid : {Grid{1, 1}, Grid{1, 2}, Grid{2, 1}, Grid{2, 2}, Grid{1, 3}, Grid{3, 2}}) {
      SCOPED_TRACE(fmt::format("{}x{}x{} on {}x{}", shape.m, shape.n, shape.k, grid.rows, grid.columns));
      std::vector<Problem> blocks(static_cast<std::size_t>(grid.size()));
      RankParts parts = host_parts();
      parts.device = [&](int rank, const Patience&) {
        return std::make_unique<ToldDevice>(blocks[static_cast<std::size_t>(rank)]);
      };
      ThreadTeam team(grid.size(), parts);
      compute(team, job_in_pieces(shape, grid, "15_reproducible"));
      for (int rank = 0; rank < grid.size(); ++rank) {
        const Problem& block = blocks[static_cast<std::size_t>(rank)];
        const float* const of_block =
            expected.data() + grid.c_rows(shape, rank).begin * shape.n + grid.c_columns(shape, rank).begin;
        for (std::int64_t row = 0; row < block.m; ++row) {
          ASSERT_EQ(std::memcmp(block.c + row * block.ldc, of_block + row * shape.n,
                                static_cast<std::size_t>(block.n) * sizeof(float)),
                    0)
              << "rank " << rank << ", row " << row;
        }
      }
    }
  }
}

/// Never brings the last piece, while `forgetful`.
class ForgetfulExchange final : public HostExchange {
 public:
  ForgetfulExchange(PanelsOf panels_of_rank, const bool& forgetful)
      : HostExchange(std::move(panels_of_rank)), forgetful_(forgetful) {}

  void start(const PanelMemory& panels, const Transfers& transfers) override {
    most_ = forgetful_ && !transfers.incoming.empty() ? transfers.incoming.size() - 1 : transfers.incoming.size();
    HostExchange::start(panels, transfers);
  }
  void await(std::size_t count, cudaStream_t stream) override { HostExchange::await(std::min(count, most_), stream); }

 private:
  const bool& forgetful_;
  std::size_t most_ = 0;
};

RankParts forgetful_parts(const bool& forgetful) {
  RankParts parts = host_parts();
  parts.exchange = [&forgetful](int, const Patience&, PanelsOf panels_of_rank) {
    return std::make_unique<ForgetfulExchange>(std::move(panels_of_rank), forgetful);
  };
  return parts;
}

/// Expects that every element of C is NaN.
void expect_all_nan(ThreadTeam& team, const RankJob& job) {
  const std::vector<RankReply> replies = team.all({RankOrder::check});
  for (int rank = 0; rank < job.grid.size(); ++rank) {
    const Verdict& verdict = replies[static_cast<std::size_t>(rank)].verdict;
    EXPECT_GT(verdict.compared, 0);
    EXPECT_EQ(verdict.wrong, verdict.compared);
    EXPECT_TRUE(std::isnan(verdict.first_wrong_value));
    EXPECT_EQ(verdict.first_wrong_row, job.grid.c_rows(job.shape, rank).begin);
    EXPECT_EQ(verdict.first_wrong_col, job.grid.c_columns(job.shape, rank).begin);
  }
}

TEST(RankTeamTest, NoticesAPieceThatDoesNotCome) {
  const bool forgetful = true;
  ThreadTeam team(4, forgetful_parts(forgetful));
  const RankJob job = job_in_pieces({250, 130, 77}, {2, 2});
  compute(team, job);
  expect_all_nan(team, job);
}

// A fresh run forgets what the runs before it have received.
TEST(RankTeamTest, NoticesAPieceThatHasOnlyComeBefore) {
  bool forgetful = false;
  ThreadTeam team(4, forgetful_parts(forgetful));
  const RankJob job = job_in_pieces({250, 130, 77}, {2, 2});
  compute(team, job);
  expect_right(team, job.shape);
  forgetful = true;
  done(team.all({RankOrder::run_fresh}));
  expect_all_nan(team, job);
}

TEST(RankTeamTest, ComputesTheSameBlocksWithoutAnExchange) {
  const bool forgetful = true;
  ThreadTeam team(4, forgetful_parts(forgetful));
  RankJob job = job_in_pieces({96, 70, 50, 1.0F, 0.5F}, {2, 2});
  job.alone = true;
  compute(team, job, RankOrder::run_alone);
  expect_right(team, job.shape);
  done(team.all({RankOrder::run}));
  expect_all_nan(team, job);
  done(team.all({RankOrder::tear_down}));
}

TEST(RankTeamTest, SaysWhyItWasStopped) {
  ThreadTeam team(2, host_parts());
  RankJob job = job_in_pieces({64, 64, 64}, {2, 1});
  job.local_kernel = position_of("cpu_naive");
  for (const RankReply& reply : team.all({RankOrder::set_up, job})) {
    EXPECT_TRUE(reply.stopped);
    EXPECT_EQ(reply.outcome, Outcome::not_supported);
    EXPECT_STREQ(reply.reason.data(), "cpu_naive was not built for this device");
  }
}

/// The host, with trouble before each run: `trouble` may throw or wait.
class TroubledDevice final : public HostRankDevice {
 public:
  explicit TroubledDevice(std::function<void()> trouble) : trouble_(std::move(trouble)) {}

  void get_ready(bool) override { trouble_(); }

 private:
  std::function<void()> trouble_;
};

/// Ranks on the host, with trouble for rank 1, which gets its own patience.
RankParts troubled_parts(const std::function<void(const Patience&)>& trouble) {
  RankParts parts = host_parts();
  parts.device = [trouble](int rank, const Patience& patience) -> std::unique_ptr<RankDevice> {
    if (rank == 1) {
      return std::make_unique<TroubledDevice>([trouble, &patience] { trouble(patience); });
    }
    return std::make_unique<HostRankDevice>();
  };
  return parts;
}

/// Waits for what never comes.
void wait_for_ever(const Patience& patience) {
  patience.wait_until([] { return false; });
}

TEST(RankTeamTest, NoRankWaitsForOneThatIsNotReady) {
  bool broken = true;
  ThreadTeam team(3, troubled_parts([&](const Patience&) {
                    if (broken) {
                      throw std::runtime_error("broken");
                    }
                  }));
  const RankJob job = job_in_pieces({64, 64, 64}, {3, 1});
  done(team.all({RankOrder::set_up, job}));
  const std::vector<RankReply> replies = team.all({RankOrder::run});
  for (std::size_t rank = 0; rank < replies.size(); ++rank) {
    EXPECT_TRUE(replies[rank].stopped);
    EXPECT_STREQ(replies[rank].reason.data(), rank == 1 ? "broken" : "another rank was not ready");
    EXPECT_EQ(replies[rank].cause_elsewhere, rank != 1);
  }
  EXPECT_FALSE(team.lost());
  broken = false;
  compute(team, job);
  expect_right(team, job.shape);
}

bool always() { return true; }

TEST(RankTest, WaitsForOthersNoLongerThanItMay) {
  Rank rank(0, host_parts(), nullptr, {});
  const RanksReady meeting_alone = [](bool, const Patience& patience) {
    wait_for_ever(patience);
    return true;
  };
  done({rank.obey({RankOrder::set_up, job_in_pieces({64, 64, 64}, {1, 1})}, meeting_alone)});
  const RankReply reply = rank.obey({RankOrder::run, {}, 0.1}, meeting_alone);
  EXPECT_TRUE(reply.stopped);
  EXPECT_EQ(reply.outcome, Outcome::failed);
  EXPECT_TRUE(reply.cause_elsewhere);
  EXPECT_STREQ(reply.reason.data(),
               "waited for its GPU or for another rank, which was not done within 0.1 s, which --timeout changes");
  EXPECT_GT(time_for_replies(0.1).count(), 0.1) << "what ranks say comes before what the leader would";
}

TEST(RankTeamTest, NamesARankThatDoesNotReplyInTime) {
  std::atomic<bool> waiting = true;
  ThreadTeam team(3, troubled_parts([&](const Patience&) {
                    while (waiting) {
                      std::this_thread::yield();
                    }
                  }));
  done(team.all({RankOrder::set_up, job_in_pieces({64, 64, 64}, {3, 1})}));
  const std::vector<RankReply> replies = team.all({RankOrder::run, {}, 0.1});
  for (const RankReply& reply : replies) {  // where cores are busy, the other two may reply too late as well
    EXPECT_TRUE(reply.stopped);
    EXPECT_EQ(reply.outcome, Outcome::failed);
  }
  EXPECT_FALSE(replies[1].cause_elsewhere);
  EXPECT_STREQ(replies[1].reason.data(), "no reply within 0.1 s, which --timeout changes");
  EXPECT_TRUE(team.lost());
  waiting = false;
}

TEST(RankTeamTest, WaitingEndsWithAnInterrupt) {
  ThreadTeam team(3, troubled_parts(wait_for_ever), StopToken(always));
  done(team.all({RankOrder::set_up, job_in_pieces({64, 64, 64}, {3, 1})}));
  const std::vector<RankReply> replies = team.all({RankOrder::run});
  for (const RankReply& reply : replies) {  // the others may learn first that rank 1 is not ready
    EXPECT_TRUE(reply.stopped);
    EXPECT_TRUE(reply.cause_elsewhere);
  }
  EXPECT_EQ(replies[1].outcome, Outcome::skipped);
  EXPECT_STREQ(replies[1].reason.data(), "interrupted");
}

}  // namespace
}  // namespace sgemm::test
