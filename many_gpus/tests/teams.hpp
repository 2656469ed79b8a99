#pragma once

// Teams of ranks under test, on the executor or on GPUs.

#include "base/kernel.hpp"
#include "ranks/job.hpp"
#include "ranks/team.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm::test {

inline int position_of(std::string_view id) {
  const Kernel* const found = find_kernel(id);
  if (!found) {
    throw std::invalid_argument("no kernel " + std::string(id));
  }
  return static_cast<int>(found - kernels().data());
}

inline RankJob job_of(const Shape& shape, const Grid& grid = {}, std::string_view local = "09_every_shape") {
  RankJob job;
  job.shape = shape;
  job.seed = 7;
  job.grid = grid;
  job.local_kernel = position_of(local);
  job.accuracy = kernels()[static_cast<std::size_t>(job.local_kernel)].accuracy;
  return job;
}

/// The replies, none of which says that a rank was stopped.
inline std::vector<RankReply> done(std::vector<RankReply> replies) {
  for (std::size_t rank = 0; rank < replies.size(); ++rank) {
    EXPECT_FALSE(replies[rank].stopped) << "rank " << rank << ": " << replies[rank].reason.data();
  }
  return replies;
}

/// Sets a job up and runs it. Expects that no rank is stopped.
inline void compute(Team& team, const RankJob& job, RankOrder run = RankOrder::run) {
  done(team.all({RankOrder::set_up, job}));
  done(team.all({run}));
}

/// Expects that the ranks have compared all of C, and found it right.
inline void expect_right(Team& team, const Shape& shape) {
  std::int64_t compared = 0;
  for (const RankReply& reply : done(team.all({RankOrder::check}))) {
    EXPECT_EQ(reply.verdict.wrong, 0) << reply.verdict.describe();
    compared += reply.verdict.compared;
  }
  EXPECT_EQ(compared, shape.m * shape.n);
}

}  // namespace sgemm::test
