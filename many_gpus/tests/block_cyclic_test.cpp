// Operands for cuBLASMp: ranks have blocks of them as ScaLAPACK deals them out, by its own formulas. cuBLASMp itself is
// played by a product on the host that looks every element up where those formulas have it.

#include "ranks/block_cyclic.hpp"
#include "base/outcome.hpp"
#include "host/kernel.hpp"
#include "host_device.hpp"
#include "ranks/job.hpp"
#include "ranks/thread_team.hpp"
#include "schedule/grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sgemm::test {
namespace {

constexpr Grid GRIDS[] = {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {1, 3}, {2, 3}, {3, 2}};

/// Some that grids divide, some that they do not, and sizes of GPUs.
constexpr Shape SHAPES[] = {{96, 96, 96},       {250, 130, 77},     {7, 5, 6},           {2048, 2048, 2048},
                            {3001, 3001, 3001}, {4097, 8191, 6145}, {16384, 4096, 12288}};

/// ScaLAPACK's INDXG2P: the process that has index `i`.
std::int64_t process_of(std::int64_t i, std::int64_t block, std::int64_t processes) { return i / block % processes; }

/// ScaLAPACK's INDXG2L: where that process has it.
std::int64_t place_of(std::int64_t i, std::int64_t block, std::int64_t processes) {
  return i / (block * processes) * block + i % block;
}

/// Expects that `ranges`, one after another, are the indices that ScaLAPACK gives the process, each in its place.
void expect_dealt(const std::vector<Range>& ranges, std::int64_t extent, std::int64_t block, int processes,
                  int process) {
  std::int64_t place = 0;
  for (const Range& range : ranges) {
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      ASSERT_EQ(process_of(i, block, processes), process) << i;
      ASSERT_EQ(place_of(i, block, processes), place++) << i;
    }
  }
  std::int64_t expected = 0;
  for (std::int64_t i = 0; i < extent; ++i) {
    expected += process_of(i, block, processes) == process ? 1 : 0;
  }
  EXPECT_EQ(place, expected);
  EXPECT_EQ(length(ranges), expected);
}

template <class Visit>
void for_each_rank(const Visit& visit) {
  for (const Shape& shape : SHAPES) {
    for (const Grid& grid : GRIDS) {
      const BlockCyclic dealt(shape, grid);
      for (int rank = 0; rank < grid.size(); ++rank) {
        SCOPED_TRACE(
            fmt::format("{}x{}x{} on {}x{}, rank {}", shape.m, shape.n, shape.k, grid.rows, grid.columns, rank));
        visit(dealt, shape, grid, rank);
      }
    }
  }
}

TEST(BlockCyclicTest, RanksHaveWhatScalapackGivesThem) {
  for_each_rank([](const BlockCyclic& dealt, const Shape& shape, const Grid& grid, int rank) {
    const int row = grid.row(rank);
    const int column = grid.column(rank);
    expect_dealt({grid.c_rows(shape, rank)}, shape.m, dealt.rows(), grid.rows, row);
    expect_dealt({grid.c_columns(shape, rank)}, shape.n, dealt.columns(), grid.columns, column);
    expect_dealt(dealt.a_depth(rank), shape.k, dealt.depth(), grid.columns, column);
    expect_dealt(dealt.b_depth(rank), shape.k, dealt.depth(), grid.rows, row);
  });
}

TEST(BlockCyclicTest, SquareGridsAndSingleRowsHaveWhatChapter14Has) {
  const auto same = [](const std::vector<Range>& dealt, Range range) {
    return dealt.front().begin == range.begin && dealt.back().end == range.end && length(dealt) == range.size();
  };
  for_each_rank([&](const BlockCyclic& dealt, const Shape& shape, const Grid& grid, int rank) {
    if (grid.rows == grid.columns || grid.rows == 1 || grid.columns == 1) {
      EXPECT_TRUE(same(dealt.a_depth(rank), grid.a_depth(shape, rank)));
      EXPECT_TRUE(same(dealt.b_depth(rank), grid.b_depth(shape, rank)));
      EXPECT_EQ(dealt.floats_received(rank), floats_received(shape, grid, rank));
    }
  });
}

TEST(BlockCyclicTest, RanksHaveEquallyMuchWhereItDivides) {
  const Shape shape{6 * 1024, 6 * 1024, 6 * 1024};
  for (const Grid& grid : GRIDS) {
    const BlockCyclic dealt(shape, grid);
    for (int rank = 0; rank < grid.size(); ++rank) {
      EXPECT_EQ(length(dealt.a_depth(rank)), shape.k / grid.columns) << grid.rows << "x" << grid.columns;
      EXPECT_EQ(length(dealt.b_depth(rank)), shape.k / grid.rows) << grid.rows << "x" << grid.columns;
    }
  }
}

TEST(BlockCyclicTest, RefusesShapesThatLeaveRanksWithout) {
  for (const auto& [shape, grid] : {std::pair(Shape{1, 96, 96}, Grid{2, 1}), std::pair(Shape{96, 2, 96}, Grid{1, 3}),
                                    std::pair(Shape{96, 96, 2}, Grid{1, 3}), std::pair(Shape{96, 96, 0}, Grid{1, 1}),
                                    std::pair(Shape{5, 96, 96}, Grid{4, 1})}) {
    try {
      const BlockCyclic dealt(shape, grid);
      ADD_FAILURE() << fmt::format("{}x{}x{} on {}x{}", shape.m, shape.n, shape.k, grid.rows, grid.columns);
    } catch (const CaseStopped& stopped) {
      EXPECT_EQ(stopped.outcome(), Outcome::not_supported);
      EXPECT_EQ(stopped.what(), fmt::format("a grid of {}x{} leaves ranks without a block", grid.rows, grid.columns));
    }
  }
}

/// What the ranks' ends of the played cuBLASMp have in common.
struct Meeting {
  explicit Meeting(int ranks) : problems(static_cast<std::size_t>(ranks)), all_here(ranks) {}

  std::vector<Problem> problems;  ///< by rank, of the launch under way
  std::barrier<> all_here;
};

/// The rank's block of C, from elements of all ranks.
void multiply(const std::vector<Problem>& problems, const BlockCyclic& dealt, int rank) {
  const Grid& grid = dealt.grid();
  const Problem& own = problems[static_cast<std::size_t>(rank)];
  const Range rows = grid.c_rows(own, rank);
  const Range columns = grid.c_columns(own, rank);
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    for (std::int64_t j = 0; j < columns.size(); ++j) {
      double sum = 0.0;
      for (std::int64_t k = 0; k < own.k; ++k) {
        const auto column_of_a = static_cast<int>(process_of(k, dealt.depth(), grid.columns));
        const auto row_of_b = static_cast<int>(process_of(k, dealt.depth(), grid.rows));
        const Problem& a = problems[static_cast<std::size_t>(grid.rank(grid.row(rank), column_of_a))];
        const Problem& b = problems[static_cast<std::size_t>(grid.rank(row_of_b, grid.column(rank)))];
        sum += static_cast<double>(a.a[i * a.lda + place_of(k, dealt.depth(), grid.columns)]) *
               b.b[place_of(k, dealt.depth(), grid.rows) * b.ldb + j];
      }
      float& c = own.c[i * own.ldc + j];
      c = static_cast<float>(own.alpha * sum + (own.beta == 0.0F ? 0.0 : own.beta * static_cast<double>(c)));
    }
  }
}

/// The host, with the played cuBLASMp.
class HostWithCublasMp final : public HostDevice {
 public:
  explicit HostWithCublasMp(Meeting& meeting) : meeting_(meeting) {}

  Prepared prepare_cublasmp(const NcclId&, const BlockCyclic& dealt, int rank) override {
    Prepared prepared;
    prepared.configuration.launch = [this, dealt, rank](const Problem& problem, void*, cudaStream_t) {
      meeting_.problems[static_cast<std::size_t>(rank)] = problem;
      meeting_.all_here.arrive_and_wait();
      multiply(meeting_.problems, dealt, rank);
      meeting_.all_here.arrive_and_wait();
    };
    return prepared;
  }

 private:
  Meeting& meeting_;
};

TEST(BlockCyclicTest, RanksDealTheirOperandsOut) {
  const auto local = std::find_if(kernels().begin(), kernels().end(), [](const Kernel& kernel) {
    return static_cast<bool>(kernel.build(Target::for_executor));
  });
  ASSERT_NE(local, kernels().end());
  for (const Grid& grid : GRIDS) {
    Meeting meeting(grid.size());
    RankParts parts = host_parts();
    parts.device = [&](int, const Patience&) { return std::make_unique<HostWithCublasMp>(meeting); };
    ThreadTeam team(grid.size(), parts);
    for (const Shape& shape : {Shape{96, 96, 96, -1.5F, 0.0F}, Shape{50, 31, 77, -1.5F, 0.5F}}) {
      SCOPED_TRACE(fmt::format("{}x{}x{} on {}x{}", shape.m, shape.n, shape.k, grid.rows, grid.columns));
      RankJob job;
      job.shape = shape;
      job.seed = 7;
      job.grid = grid;
      job.local_kernel = static_cast<int>(local - kernels().begin());
      job.cublasmp.emplace();
      job.alone = true;
      const auto done = [&](RankOrder order) {
        const std::vector<RankReply> replies = team.all({order, job});
        for (const RankReply& reply : replies) {
          EXPECT_FALSE(reply.stopped) << reply.reason.data();
          EXPECT_EQ(reply.verdict.wrong, 0) << reply.verdict.describe();
        }
        return replies;
      };
      const std::vector<RankReply> ready = done(RankOrder::set_up);
      const BlockCyclic dealt(shape, grid);
      for (int rank = 0; rank < grid.size(); ++rank) {
        EXPECT_EQ(ready[static_cast<std::size_t>(rank)].received_bytes, 4.0 * dealt.floats_received(rank));
      }
      for (const RankOrder order : {RankOrder::run_fresh, RankOrder::run, RankOrder::run_alone}) {
        done(order);
        std::int64_t compared = 0;
        for (const RankReply& reply : done(RankOrder::check)) {
          compared += reply.verdict.compared;
        }
        EXPECT_EQ(compared, shape.m * shape.n);
      }
      done(RankOrder::tear_down);
    }
  }
}

}  // namespace
}  // namespace sgemm::test
